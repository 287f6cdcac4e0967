import { setTimeout as sleep } from 'node:timers/promises';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { isKeepalive } from './keepalive.ts';
import { isLongEvent, readEvent } from './read-event.ts';
import { SseEvents } from './sse-events.ts';

/** Events that say nothing about the answer yet. */
const NEUTRAL = new Set([
  'response.created',
  'response.in_progress',
  'response.queued',
  'response.metadata',
  'codex.rate_limits',
]);
const FAILED = new Set(['response.failed', 'error']);

/** The first events repeat the instructions and tools of the request. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;

/** The beginning of a stream that has been read and not been passed on. */
export interface StreamStart {
  readonly held: readonly Buffer[];
  /** The step that has been asked for and not been taken. */
  readonly pending: Promise<IteratorResult<Buffer>> | null;
  /** Set where the first thing that the answer says is that it failed. */
  readonly failure: Failure | null;
}

export interface StreamStartOptions {
  readonly toFailure: (event: JsonObject) => Failure;
  /** More than a keepalive came. */
  readonly onActivity: () => void;
}

/**
 * Reads on until the stream says something. A backend without capacity may answer 200 and say so in
 * its first event, which is no more of an answer than a 503.
 */
export const readStreamStart = async (
  first: Buffer,
  chunks: AsyncIterator<Buffer>,
  withinMs: number,
  { toFailure, onActivity }: StreamStartOptions,
): Promise<StreamStart> => {
  const held = [first];
  const look = new FirstEvent(toFailure, onActivity);
  look.push(first);
  const stop = new AbortController();
  const late = sleep(withinMs, null, { signal: stop.signal }).catch(() => null);
  let pending: Promise<IteratorResult<Buffer>> | null = null;
  let bytes = first.length;
  try {
    while (!look.isFound && bytes <= MAX_HELD_BYTES) {
      pending = chunks.next();
      // Whoever passes the rest on meets the end of the stream, or its error, where it belongs.
      const step = await Promise.race([pending.catch(() => null), late]);
      if (step === null || step.done === true) break;
      pending = null;
      held.push(step.value);
      bytes += step.value.length;
      look.push(step.value);
    }
  } finally {
    stop.abort();
  }
  return { held, pending, failure: look.failure };
};

/** What was held, then what comes. */
export async function* replayThenRead(
  { held, pending }: Pick<StreamStart, 'held' | 'pending'>,
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
  readonly #events = new SseEvents({
    keepsData: (type) => FAILED.has(type),
    onEvent: (type, data) => this.#see(type, data),
  });
  isFound = false;
  failure: Failure | null = null;

  constructor(toFailure: (event: JsonObject) => Failure, onActivity: () => void) {
    this.#toFailure = toFailure;
    this.#onActivity = onActivity;
  }

  push(chunk: Buffer): void {
    this.#events.push(chunk);
  }

  #see(type: string | null, data: string | null): void {
    if (isKeepalive(type)) return;
    this.#onActivity();
    if (this.isFound || (type !== null && NEUTRAL.has(type))) return;
    this.isFound = true;
    if (type === null || data === null || !FAILED.has(type)) return;
    // One that is long or beyond a limit is left to whoever reads the whole answer.
    const event = isLongEvent(data) ? null : readEvent(data);
    if (event !== null && typeof event !== 'string') this.failure = this.#toFailure(event);
  }
}
