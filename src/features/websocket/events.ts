import { gatewayError, type Failure, type GatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { errorBody } from '../../openai/shared/error-body.ts';
import { websocketError } from './feature.ts';

/** A message of the client. */
type ClientEvent =
  | CreateEvent
  | { readonly kind: 'steer'; readonly responseId: string; readonly event: JsonObject };

export interface CreateEvent {
  readonly kind: 'create';
  /** False: the input is kept, and no model reads it. */
  readonly generates: boolean;
  /** As for `POST /v1/responses`. */
  readonly body: JsonObject;
}

/** Throws if the message is not a JSON object. */
export const eventObject = (message: unknown): JsonObject => {
  if (isJsonObject(message)) return message;
  throw gatewayError('invalid_type', { message: 'Invalid type for the message: expected a JSON object.' });
};

const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/;

/** The lane that an event names; null: none. Throws if it is not valid. */
export const laneOf = ({ stream_id: streamId }: JsonObject): string | null => {
  if (streamId === undefined || streamId === null) return null;
  if (typeof streamId === 'string' && STREAM_ID.test(streamId)) return streamId;
  throw websocketError('invalid_stream_id', { param: 'stream_id' });
};

/** Throws if the event is unknown, or cannot be served over a WebSocket. */
export const readClientEvent = (event: JsonObject): ClientEvent => {
  const { type } = event;
  if (type === 'response.create') return createOf(event);
  if (type === 'response.steer') return { kind: 'steer', responseId: steeredId(event), event };
  if (type === 'response.inject') throw noInjection();
  throw unknownType(type);
};

/** It resumes a response that waits for the output of a tool. Here a response ends with its calls. */
const noInjection = (): GatewayError =>
  gatewayError('unsupported_value', {
    param: 'type',
    message:
      "Unsupported value: 'type' is 'response.inject'. A response of this server ends with its calls and waits for nothing. Send the outputs in a 'response.create' with 'previous_response_id'.",
  });

const createOf = (event: JsonObject): ClientEvent => {
  // A response is always streamed here, whatever `stream` says.
  const { type: _, stream_id: __, stream: ___, generate = true, background, ...body } = event;
  if (background === true) {
    throw gatewayError('unsupported_value', {
      param: 'background',
      message:
        "Unsupported value: 'background' is not supported over a WebSocket. Send the request over HTTP.",
    });
  }
  if (typeof generate !== 'boolean' && generate !== null) {
    throw gatewayError('invalid_type', {
      param: 'generate',
      message: `Invalid type for 'generate': expected a boolean.`,
    });
  }
  const checked = background === undefined ? body : { ...body, background };
  return { kind: 'create', generates: generate !== false, body: { ...checked, stream: true } };
};

const steeredId = ({ previous_response_id: id }: JsonObject): string => {
  if (typeof id === 'string') return id;
  throw gatewayError(id === undefined ? 'missing_required_parameter' : 'invalid_type', {
    param: 'previous_response_id',
    message: "'previous_response_id' must be the id of the response to steer.",
  });
};

const unknownType = (type: unknown): GatewayError => {
  const param = 'type';
  if (type === undefined) {
    return gatewayError('missing_required_parameter', {
      param,
      message: "Missing required parameter: 'type'.",
    });
  }
  return typeof type === 'string'
    ? gatewayError('invalid_value', {
        param,
        message: `Invalid value: '${quoted(type)}'. Supported values are: 'response.create' and 'response.steer'.`,
      })
    : gatewayError('invalid_type', { param, message: "Invalid type for 'type': expected a string." });
};

/** The lane of an event, if its request named one. */
export const inLane = (streamId: string | null): { readonly stream_id?: string } =>
  streamId === null ? {} : { stream_id: streamId };

/**
 * The error of a message. `status` and `headers` are what an HTTP answer would have. codex reads the headers of the event,
 * and OpenAI's packages those of its error.
 */
export const errorEvent = (
  failed: Failure,
  streamId: string | null,
  about: Readonly<Record<string, string>> = {},
): JsonObject => {
  const headers = {
    ...about,
    ...failed.headers,
    ...(failed.retryAfterSeconds === null ? {} : { 'retry-after': String(failed.retryAfterSeconds) }),
  };
  const { error } = errorBody(failed);
  return {
    type: 'error',
    status: failed.status,
    error: { ...error, headers },
    headers,
    ...inLane(streamId),
  };
};
