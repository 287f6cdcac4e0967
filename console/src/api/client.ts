import { ApiError, toApiError } from './api-error.ts';

/** Fired when the server says that the session has ended: the sign-in page listens. */
export const SIGNED_OUT = 'console-signed-out';

/** Every answer must begin within this time. Streams may last longer. */
const TIMEOUT_MS = 30_000;

interface Sent {
  readonly method?: 'DELETE' | 'GET' | 'POST';
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** A status besides 2xx that is an answer, not an error. */
  readonly alsoOk?: number;
  /** For an answer that begins later than others. */
  readonly timeoutMs?: number;
}

/** Sends a request with the session cookie. Throws an `ApiError` for every answer that is not a success. */
export const send = async (path: string, sent: Sent = {}): Promise<Response> => {
  const { method = 'GET', body, signal, headers, alsoOk, timeoutMs = TIMEOUT_MS } = sent;
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: {
        accept: 'application/json',
        // Proves that this page sent the request where the browser does not: on plain HTTP, and in old browsers.
        'x-console-request': '1',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]),
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(
      limit.signal.aborted
        ? `No answer within ${timeoutMs / 1000} seconds.`
        : 'The server cannot be reached. Is it running?',
    );
  } finally {
    clearTimeout(timer);
  }
  if (response.ok || response.status === alsoOk) return response;
  const failed = await toApiError(response);
  if (failed.status === 401) window.dispatchEvent(new Event(SIGNED_OUT));
  throw failed;
};

const json = async <T>(path: string, sent?: Sent): Promise<T> =>
  (await send(path, sent)).json() as Promise<T>;

/** The API of this server. Its answers have the documented forms, so that they are not checked again. */
export const api = {
  get: <T>(path: string, signal?: AbortSignal): Promise<T> =>
    json<T>(path, signal === undefined ? {} : { signal }),
  post: <T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> =>
    json<T>(path, { method: 'POST', body, ...(signal === undefined ? {} : { signal }) }),
  delete: <T>(path: string): Promise<T> => json<T>(path, { method: 'DELETE' }),
};
