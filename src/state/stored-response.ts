import type { Produced } from '../canonical/request/item.ts';
import type { Sliced } from '../kit/async/event-loop.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { ResponseRow, ResponseStatus } from '../store/store.ts';
import { corrupt, isProduced, parseBody } from './stored-turn.ts';

/** What a response has besides the items of its turn. */
export interface StoredResponse {
  /** The response object as its client saw it, with an empty `output`. */
  readonly object: JsonObject;
  /** The output as its client saw it, if that differs from what the model wrote. */
  readonly shown?: readonly Produced[];
  /** The `include` of the request that created it; absent: none. */
  readonly include?: readonly string[];
  /** The request of a background response that has not ended, if it can run again. */
  readonly request?: StoredRequest;
}

/** A request as its client sent it. */
export interface StoredRequest {
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  /** How many times it has been run again. */
  readonly reruns: number;
}

const RUNNING: ReadonlySet<ResponseStatus> = new Set(['queued', 'in_progress']);

export const isRunning = (status: ResponseStatus): boolean => RUNNING.has(status);

const FORM = 1;

export const responseBody = (response: StoredResponse): object => ({ form: FORM, ...response });

/** Reads a response in slices. Throws if the row is not what this program wrote. */
export function* readResponse({ id, body }: Pick<ResponseRow, 'id' | 'body'>): Sliced<StoredResponse> {
  const { form, object, shown, include, request } = yield* parseBody(body, `response ${id}`);
  if (form !== FORM || !isJsonObject(object)) throw corrupt(`response ${id}`);
  return {
    object,
    ...(isProduced(shown) ? { shown } : {}),
    ...(Array.isArray(include) ? { include: include as readonly string[] } : {}),
    ...(isStoredRequest(request) ? { request } : {}),
  };
}

const isStoredRequest = (value: unknown): value is StoredRequest =>
  isJsonObject(value) &&
  isJsonObject(value['body']) &&
  isJsonObject(value['headers']) &&
  typeof value['reruns'] === 'number';
