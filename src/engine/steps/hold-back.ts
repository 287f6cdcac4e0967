import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { bytesOf } from '../attempt/mailbox.ts';
import type { Settling } from './step.ts';

/**
 * What happens to an event before it is decided whether the answer is used.
 * - `send`: it is sent at once, before everything that is held.
 * - `hold`: it waits.
 * - `drop`: it is never sent.
 * - `release`: everything that is held is sent, then this event.
 * - `decide`: the same, and the answer is used: the turn will not be run again.
 * - `discard`: the turn is left here, and nothing more of it is sent.
 */
export type HoldVerdict = 'send' | 'hold' | 'drop' | 'release' | 'decide' | 'discard';

export interface HoldRules {
  /** Called for every event, also for those after `decide`. */
  readonly judge: (event: TurnEvent) => HoldVerdict;
  /** What happens once more than the limit is held: `discard`, or `decide` without asking any further. */
  readonly whenFull: 'decide' | 'discard';
  readonly maxBytes?: number | undefined;
  /** After this time everything is sent, undecided; null: no limit. */
  readonly withinMs?: number | null;
  readonly signal?: AbortSignal;
  /** Of the run that is judged. */
  readonly settling?: Settling;
  /** The usage of discarded answers, added to that of this one. */
  readonly spent?: Usage | null;
}

/** A long answer in small deltas takes some megabytes. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/**
 * Holds events of a turn back until it is known whether they are the answer. Returns what is still held when the turn
 * ends or is discarded, for the caller to release or forget; null if the answer was decided and therefore sent.
 */
export async function* holdBack(
  events: AsyncIterable<TurnEvent>,
  rules: HoldRules,
): AsyncGenerator<TurnEvent, readonly TurnEvent[] | null> {
  const { judge, whenFull, signal, settling, spent = null } = rules;
  const maxBytes = rules.maxBytes ?? MAX_HELD_BYTES;
  let held: TurnEvent[] = [];
  let heldBytes = 0;
  const takeAll = (): readonly TurnEvent[] => {
    const taken = held;
    held = [];
    heldBytes = 0;
    return taken;
  };
  const time = new TimeLimit(rules.withinMs ?? null);
  const iterator = events[Symbol.asyncIterator]();
  let isDecided = false;
  let mayJudge = true;
  try {
    let next = iterator.next();
    for (;;) {
      const step = await time.race(next);
      if (step === null) {
        isDecided = true;
        mayJudge = false;
        yield* release(takeAll(), signal, spent);
        continue;
      }
      if (step.done === true) return isDecided ? null : held;
      const event = step.value;
      let verdict = mayJudge ? judge(event) : 'send';
      if (verdict === 'hold' || verdict === 'discard') {
        held.push(event);
        heldBytes += bytesOf(event);
      }
      if (verdict === 'hold' && heldBytes > maxBytes) {
        verdict = whenFull;
        mayJudge = false;
      }
      if (verdict === 'discard') return held;
      if (verdict === 'decide') {
        isDecided = true;
        time.stop();
        settling?.markLast();
      }
      if (verdict === 'release' || verdict === 'decide') yield* release(takeAll(), signal, spent);
      // The event that fills the limit was held, and has been sent with the rest.
      const isSent = verdict === 'send' || verdict === 'release' || (verdict === 'decide' && mayJudge);
      if (isSent) yield withSpent(event, spent);
      next = iterator.next();
    }
  } finally {
    time.stop();
    await iterator.return?.();
  }
}

/** Sends held events, yielding to other requests. */
export async function* release(
  events: readonly TurnEvent[],
  signal?: AbortSignal,
  spent: Usage | null = null,
): AsyncGenerator<TurnEvent> {
  for (const event of events) {
    await yieldToLoop(signal);
    yield withSpent(event, spent);
  }
}

/** The usage of a turn that was discarded; null: it had not ended. */
export const usageOf = (held: readonly TurnEvent[]): Usage | null => {
  const last = held.at(-1);
  return last?.type === 'turn-ended' ? last.usage : null;
};

const withSpent = (event: TurnEvent, spent: Usage | null): TurnEvent =>
  event.type === 'turn-ended' && spent !== null ? { ...event, usage: addUsage(spent, event.usage) } : event;

/** Interrupts a wait once. */
class TimeLimit {
  #late: Promise<null> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(withinMs: number | null) {
    if (withinMs === null) return;
    const late = Promise.withResolvers<null>();
    this.#late = late.promise;
    this.#timer = setTimeout(late.resolve, withinMs, null);
  }

  /** The result of the work; null, once, when the time is up. */
  async race<Value>(work: Promise<Value>): Promise<Value | null> {
    if (this.#late === null) return work;
    // The caller waits for it again when the time is up.
    work.catch(() => {});
    const first = await Promise.race([work, this.#late]);
    if (first === null) this.stop();
    return first;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#late = null;
  }
}
