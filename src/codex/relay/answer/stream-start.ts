import { Readable } from 'node:stream';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { isKeepalive, isLongEvent, readEvent, isNeutral } from './read-event.ts';
import type { AnswerBody } from '../transport/model-transport.ts';
import { SseEvents, type SseEvent, type StreamPart } from './sse-events.ts';

const FAILED = new Set(['response.failed', 'error']);

/** The first events repeat the instructions and tools of the request. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** The parts of a chunk that was split into its events. */
export type SplitChunk = readonly StreamPart[];

/** Chunks of a stream that have been read but not passed on. */
interface HeldChunks {
  readonly held: readonly SplitChunk[];
  /** A read that was started but not consumed. */
  readonly pending: Promise<IteratorResult<Buffer>> | null;
}

/** The start of a stream, and what it was found to be. */
export interface StreamStart extends HeldChunks {
  /** Set if the first event of the answer is a failure. */
  readonly failure: Failure | null;
  /** Whether the stream ended before any output, which was waited for. */
  readonly isCut: boolean;
  /** Whether the first event of output is among what was read. */
  readonly hasOutput: boolean;
  /** Splits the rest of the stream; null: nothing of it was split yet. */
  readonly events: SseEvents | null;
}

export interface StreamStartOptions {
  readonly toFailure: (event: JsonObject) => Failure;
  /** More than a keepalive arrived. */
  readonly onActivity: () => void;
  /** Anything arrived. */
  readonly onHeard?: () => void;
}

/**
 * Reads until the first event of output, but not longer than `withinMs`; null: as long as it takes. An overloaded
 * backend may answer 200 and report it there, which counts like a 503.
 */
export const readStreamStart = async (
  first: Buffer,
  chunks: AsyncIterator<Buffer>,
  withinMs: number | null,
  { toFailure, onActivity, onHeard }: StreamStartOptions,
): Promise<StreamStart> => {
  const look = new FirstEvent(toFailure, onActivity);
  const held = [look.push(first)];
  const late = Promise.withResolvers<null>();
  const timer = withinMs === null ? undefined : setTimeout(late.resolve, withinMs, null);
  let pending: Promise<IteratorResult<Buffer>> | null = null;
  let bytes = first.length;
  let isCut = false;
  try {
    while (!look.isFound && bytes <= MAX_HELD_BYTES) {
      pending = chunks.next();
      // The consumer of the rest sees the end of the stream, or its error, at the right point.
      const step = await Promise.race([pending.catch(() => CUT), late.promise]);
      isCut = step?.done === true;
      if (step === null || step.done === true) break;
      pending = null;
      onHeard?.();
      held.push(look.push(step.value));
      bytes += step.value.length;
    }
  } finally {
    clearTimeout(timer);
  }
  const { failure, isFound: hasOutput, events } = look;
  return { held, pending, failure, isCut: isCut && withinMs === null, hasOutput, events };
};

/** No more chunks follow. */
const CUT: IteratorResult<Buffer, undefined> = { done: true, value: undefined };

/** The held chunks, then the rest. Not a generator, which would cost something for each chunk. */
export const replayThenRead = (
  { held, pending }: HeldChunks,
  chunks: AsyncIterator<Buffer>,
): AsyncIterableIterator<SplitChunk | Buffer> => {
  let at = 0;
  let started = pending;
  const all = {
    next(): Promise<IteratorResult<SplitChunk | Buffer>> {
      const chunk = held[at];
      at += 1;
      if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
      const step = started ?? chunks.next();
      started = null;
      return step;
    },
    async return(): Promise<IteratorResult<SplitChunk | Buffer>> {
      await chunks.return?.();
      return CUT;
    },
    [Symbol.asyncIterator]: () => all,
  };
  return all;
};

/** The chunks of a body. It is destroyed if it is left early. */
export const chunksOf = (body: AnswerBody): AsyncIterator<Buffer> =>
  body instanceof Readable ? new FlowingChunks(body) : body[Symbol.asyncIterator]();

/** Takes each chunk as it arrives. Node's own iterator waits for an event and a tick before it reads one. */
class FlowingChunks implements AsyncIterator<Buffer, undefined> {
  readonly #body: Readable;
  readonly #unread: Buffer[] = [];
  #reader: PromiseWithResolvers<IteratorResult<Buffer, undefined>> | null = null;
  #isStarted = false;
  #end: { readonly error: unknown } | null = null;

  constructor(body: Readable) {
    this.#body = body;
  }

  next(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#isStarted) this.#start();
    const chunk = this.#unread.shift();
    if (chunk !== undefined) return Promise.resolve({ done: false, value: chunk });
    const reader = Promise.withResolvers<IteratorResult<Buffer, undefined>>();
    this.#reader = reader;
    if (this.#end !== null) this.#over(this.#end.error);
    else if (this.#body.isPaused()) this.#body.resume();
    return reader.promise;
  }

  return(): Promise<IteratorResult<Buffer, undefined>> {
    if (this.#isStarted) this.#body.destroy();
    this.#over(null);
    return Promise.resolve(CUT);
  }

  #start(): void {
    this.#isStarted = true;
    this.#body.on('data', (chunk: Buffer) => {
      if (this.#reader === null) {
        this.#unread.push(chunk);
        // The reader lags: so does the backend.
        this.#body.pause();
      } else this.#settle()?.resolve({ done: false, value: chunk });
    });
    this.#body.on('end', () => this.#over(null));
    this.#body.on('error', (error) => this.#over(error));
    this.#body.on('close', () => this.#over(CLOSED));
  }

  /** The first end counts. */
  #over(error: unknown): void {
    this.#end ??= { error };
    if (this.#end.error === null) this.#settle()?.resolve(CUT);
    else this.#settle()?.reject(this.#end.error);
  }

  #settle(): PromiseWithResolvers<IteratorResult<Buffer, undefined>> | null {
    const reader = this.#reader;
    this.#reader = null;
    return reader;
  }
}

/** A body that was destroyed without a reason. */
const CLOSED = Object.assign(new Error('the body was closed before its end'), {
  code: 'ERR_STREAM_PREMATURE_CLOSE',
});

class FirstEvent {
  readonly #toFailure: (event: JsonObject) => Failure;
  readonly #onActivity: () => void;
  readonly events = new SseEvents();
  isFound = false;
  failure: Failure | null = null;

  constructor(toFailure: (event: JsonObject) => Failure, onActivity: () => void) {
    this.#toFailure = toFailure;
    this.#onActivity = onActivity;
  }

  push(chunk: Buffer): SplitChunk {
    const parts = this.events.push(chunk);
    for (const { event } of parts) if (event !== null && !this.isFound) this.#see(event);
    return parts;
  }

  #see({ type, data }: SseEvent): void {
    if (isKeepalive(type)) return;
    this.#onActivity();
    if (isNeutral(type)) return;
    this.isFound = true;
    if (type === null || data === null || !FAILED.has(type)) return;
    // A long or oversized event is left to the reader of the whole answer.
    const event = isLongEvent(data) ? null : readEvent(data);
    if (event !== null && typeof event !== 'string') this.failure = this.#toFailure(event);
  }
}
