import type { Failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { isKeepalive, isLongEvent, readEvent, isNeutral } from './read-event.ts';
import { SseEvents, type SseEvent } from './sse-events.ts';

const FAILED = new Set(['response.failed', 'error']);

/** The first events repeat the instructions and tools of the request. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** Chunks of a stream that have been read but not passed on. */
interface HeldChunks {
  readonly held: readonly Buffer[];
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
  const held = [first];
  const look = new FirstEvent(toFailure, onActivity);
  look.push(first);
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
      held.push(step.value);
      bytes += step.value.length;
      look.push(step.value);
    }
  } finally {
    clearTimeout(timer);
  }
  return { held, pending, failure: look.failure, isCut: isCut && withinMs === null, hasOutput: look.isFound };
};

const CUT: IteratorResult<Buffer> = { done: true, value: undefined };

/** Yields the held chunks, then the rest. */
export async function* replayThenRead(
  { held, pending }: HeldChunks,
  chunks: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    yield* held;
    for (let step = await (pending ?? chunks.next()); step.done !== true; step = await chunks.next()) {
      yield step.value;
    }
  } finally {
    await chunks.return?.();
  }
}

class FirstEvent {
  readonly #toFailure: (event: JsonObject) => Failure;
  readonly #onActivity: () => void;
  readonly #events = new SseEvents();
  isFound = false;
  failure: Failure | null = null;

  constructor(toFailure: (event: JsonObject) => Failure, onActivity: () => void) {
    this.#toFailure = toFailure;
    this.#onActivity = onActivity;
  }

  push(chunk: Buffer): void {
    for (const { event } of this.#events.push(chunk)) if (event !== null) this.#see(event);
  }

  #see({ type, data }: SseEvent): void {
    if (isKeepalive(type)) return;
    this.#onActivity();
    if (this.isFound || isNeutral(type)) return;
    this.isFound = true;
    if (type === null || data === null || !FAILED.has(type)) return;
    // A long or oversized event is left to the reader of the whole answer.
    const event = isLongEvent(data) ? null : readEvent(data);
    if (event !== null && typeof event !== 'string') this.failure = this.#toFailure(event);
  }
}
