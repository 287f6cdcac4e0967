import { isJsonObject, type Json, type JsonObject } from '../../../../kit/json/json.ts';
import { isHeaderValue } from './limit-headers.ts';

/** An `error` message of the backend. */
export interface ErrorFrame {
  /** Null: it names none. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the same error as the answer of a POST. */
  readonly body: JsonObject;
  /** The backend ends every socket after an hour. */
  readonly isAgeLimit: boolean;
  /** The backend mistakes the history for what it has seen on this socket. */
  readonly isDuplicateItem: boolean;
}

export const readErrorFrame = (event: JsonObject): ErrorFrame => {
  const { type: _, status, status_code: statusCode, headers, ...rest } = event;
  const error = isJsonObject(event['error']) ? event['error'] : {};
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  return {
    status: [status, statusCode].find(isErrorStatus) ?? null,
    headers: headersOf(headers),
    body: rest,
    isAgeLimit: error['code'] === 'websocket_connection_limit_reached',
    isDuplicateItem: message.startsWith('Duplicate item found with id'),
  };
};

/** The same failure as the last event of a stream. */
export const toFailedEvent = ({ status, body }: ErrorFrame): JsonObject => ({
  type: 'response.failed',
  ...(status === null ? {} : { status }),
  response: {
    object: 'response',
    status: 'failed',
    error: isJsonObject(body['error']) ? body['error'] : { message: detailOf(body) },
  },
});

const detailOf = ({ detail, message }: JsonObject): string => {
  const text = [detail, message].find((one) => typeof one === 'string');
  return typeof text === 'string' ? text : 'The backend reported an error.';
};

const isErrorStatus = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599;

const headersOf = (headers: Json | undefined): Readonly<Record<string, string>> => {
  if (!isJsonObject(headers)) return {};
  const read = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    return HEADER_NAME.test(name) && isHeaderValue(text) ? [[name.toLowerCase(), text]] : [];
  });
  return Object.fromEntries(read);
};

/** Not those that describe the body or the connection: the body is ours. */
const HEADER_NAME = /^(?!content-|transfer-|connection$|set-cookie$)[a-z0-9-]{1,64}$/i;
