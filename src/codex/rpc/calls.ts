import { isHeavy, writeJsonSteps } from '../../kit/json/json-writer.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { ConnectionClosed, RequestTimeout, RPC_CODES, RpcError } from './errors.ts';
import { encodeMessage, type RpcErrorBody, type RpcId } from './message.ts';
import type { LineTransport } from './transport.ts';

/** How often an overloaded server is asked again, and how long to wait before. */
export interface OverloadRetry {
  readonly attempts: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export interface CallOptions {
  readonly requestTimeoutMs: number;
  readonly overloadRetry: OverloadRetry;
  /** In [0, 1). Spreads the retries of many callers. */
  readonly random: () => number;
}

/** Options of one request. */
export interface RequestOptions {
  readonly timeoutMs?: number;
  /** A long message that is not written yet when this is aborted is not sent. */
  readonly signal?: AbortSignal;
}

/** Our requests in progress. */
export interface Calls {
  start(method: string, params: unknown, options?: RequestOptions): Promise<unknown>;
  /** False if this id was never used. */
  resolve(id: RpcId, result: unknown): boolean;
  reject(id: RpcId, error: RpcErrorBody): boolean;
  /** Fails all current and later calls. */
  close(cause: Error | null): void;
}

interface Call {
  readonly method: string;
  readonly params: unknown;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** While a long message is written: aborted when the call has ended. */
  writing: AbortController | null;
  deadline: NodeJS.Timeout;
  /** Length of its message, if long. */
  chars: number;
  attempt: number;
  retry: NodeJS.Timeout | null;
}

const LONG_MESSAGE_CHARS = 64 * 1024;

/**
 * The receiver reads one message after the other, and a long one takes a while: 31 MB took 14 s on a busy
 * machine. This time is added to a call's timeout, for its message and those before it.
 */
const READING_MS_PER_CHAR = 2_000 / (1024 * 1024);

/** Exponential backoff; half of the delay is random. */
export const overloadDelayMs = (retry: OverloadRetry, attempt: number, random: number): number => {
  const ceiling = Math.min(retry.maxDelayMs, retry.firstDelayMs * 2 ** attempt);
  return ceiling / 2 + (ceiling / 2) * random;
};

export const createCalls = (send: LineTransport['send'], options: CallOptions): Calls => {
  const { overloadRetry } = options;
  const underway = new Map<RpcId, Call>();
  let nextId = 1;
  /** Total length of all long messages without an answer. */
  let unansweredChars = 0;
  let closed: ConnectionClosed | null = null;

  const transmit = (id: RpcId, call: Call): void => {
    const message = { id, method: call.method, params: call.params };
    if (isHeavy(message, LONG_MESSAGE_CHARS)) void transmitLong(id, call, message);
    else send(encodeMessage(message));
  };

  /** A whole conversation may have megabytes: it is encoded in slices, so that others are not blocked. */
  const transmitLong = async (id: RpcId, call: Call, message: unknown): Promise<void> => {
    const over = new AbortController();
    call.writing = over;
    const signal = call.signal === undefined ? over.signal : AbortSignal.any([over.signal, call.signal]);
    const pieces = await runSliced(writeJsonSteps(message), signal).catch((error: unknown) => {
      take(id)?.reject(error as Error);
      return null;
    });
    call.writing = null;
    // The call may have timed out, or the connection closed.
    if (pieces === null || underway.get(id) !== call) return;
    const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
    unansweredChars += chars - call.chars;
    call.chars = chars;
    clearTimeout(call.deadline);
    call.deadline = deadlineOf(id, call);
    send(pieces);
  };

  const deadlineOf = (
    id: RpcId,
    { method, timeoutMs }: Pick<Call, 'method' | 'timeoutMs'>,
  ): NodeJS.Timeout => {
    const expire = (): void => {
      const call = take(id);
      call?.reject(new RequestTimeout(method, timeoutMs, call.attempt));
    };
    return setTimeout(expire, timeoutMs + unansweredChars * READING_MS_PER_CHAR);
  };

  const take = (id: RpcId): Call | undefined => {
    const call = underway.get(id);
    if (call === undefined) return undefined;
    underway.delete(id);
    unansweredChars -= call.chars;
    call.writing?.abort();
    clearTimeout(call.deadline);
    if (call.retry !== null) clearTimeout(call.retry);
    return call;
  };

  // An answer after the timeout is late but valid; only unused ids are invalid.
  const wasGivenOut = (id: RpcId): boolean => typeof id === 'number' && id >= 1 && id < nextId;

  const retryLater = (id: RpcId, error: RpcErrorBody): boolean => {
    const call = underway.get(id);
    if (call === undefined || error.code !== RPC_CODES.overloaded) return false;
    if (call.attempt >= overloadRetry.attempts) return false;
    const delay = overloadDelayMs(overloadRetry, call.attempt, options.random());
    call.attempt += 1;
    // The id can be reused: the refused request has ended, so no other answer can match it.
    call.retry = setTimeout(() => transmit(id, call), delay);
    return true;
  };

  return {
    start: (method, params, { timeoutMs = options.requestTimeoutMs, signal } = {}) =>
      new Promise((resolve, reject) => {
        if (closed !== null) {
          reject(closed);
          return;
        }
        const id = nextId;
        nextId += 1;
        const deadline = deadlineOf(id, { method, timeoutMs });
        const rest = { signal, writing: null, chars: 0, attempt: 0, retry: null };
        const call: Call = { method, params, resolve, reject, timeoutMs, deadline, ...rest };
        underway.set(id, call);
        transmit(id, call);
      }),
    resolve: (id, result) => {
      take(id)?.resolve(result);
      return wasGivenOut(id);
    },
    reject: (id, error) => {
      if (retryLater(id, error)) return true;
      const call = take(id);
      call?.reject(new RpcError(error));
      return wasGivenOut(id);
    },
    close: (cause) => {
      closed = new ConnectionClosed(cause === null ? {} : { cause });
      for (const id of underway.keys()) take(id)?.reject(closed);
    },
  };
};
