import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import type { Frame } from '../../../turns/api.ts';
import { errorBody } from '../../shared/error-body.ts';
import { DONE } from '../../../apis/sse.ts';

/** The last frame of every stream. */
export const LAST_FRAME: Frame = { event: 'done', data: DONE };

type Event = readonly [type: string, payload: Readonly<Record<string, unknown>>];

/** The events that end a failed response. */
export const failedEvents = (failed: Failure, response: object): readonly Event[] => {
  // Some clients read only the nested form, others only the flat one.
  const { error } = errorBody(failed);
  return [
    ['error', { code: error.code, message: error.message, param: error.param, error }],
    ['response.failed', { response }],
  ];
};

/**
 * The frames that end the stream of a stored response, numbered from `first` on: for a stream whose server has stopped
 * before it wrote them. A cancelled response has no event for its end.
 */
export const endFrames = (response: JsonObject, first: number): readonly Frame[] => [
  ...eventsOf(response).map(([type, payload], index) => ({
    event: type,
    data: { type, sequence_number: first + index, ...payload },
  })),
  LAST_FRAME,
];

const eventsOf = (response: JsonObject): readonly Event[] => {
  const { status, error } = response;
  if (status === 'completed' || status === 'incomplete') return [[`response.${status}`, { response }]];
  if (status !== 'failed') return [];
  const message = isJsonObject(error) ? error['message'] : undefined;
  return failedEvents(failure('server_error', typeof message === 'string' ? { message } : {}), response);
};
