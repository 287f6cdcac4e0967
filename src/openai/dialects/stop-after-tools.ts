import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import { CallFilter } from './call-filter.ts';
import type { StopRules } from './stop-rules.ts';

export interface StopOptions {
  readonly clock: Clock;
  /** Cancels the turn, even if it sends no events. */
  readonly cancelTurn: () => void;
}

/** Ends an answer after its calls, by these rules. Its usage is unknown then. */
export const stopAfterTools = (
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  options: StopOptions,
): AsyncIterable<TurnEvent> => wellFormed(stopped(events, rules, options), options);

async function* stopped(
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  { clock, cancelTurn }: StopOptions,
): AsyncGenerator<TurnEvent> {
  const filter = new CallFilter(rules);
  const grace = new Grace(rules.graceMs);
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const elapsed = grace.watch(filter.isResting);
      const next = iterator.next();
      const step = await (elapsed === null ? next : Promise.race([next, elapsed]));
      if (step === 'over') next.catch(() => {});
      else if (step.done === true) return;
      else yield* filter.next(step.value);
      if (step === 'over' || filter.isFull) {
        cancelTurn();
        // Calls as blocks are part of the text, so the answer has no native calls.
        const kind = rules.callsAre === 'items' ? 'tool-calls' : 'completed';
        yield { type: 'turn-ended', outcome: { kind }, usage: null, isEndedHere: true, at: clock.now() };
        return;
      }
    }
  } finally {
    grace.end();
    await iterator.return?.();
  }
}

/** The time after a call in which another one may start. */
class Grace {
  readonly #ms: number | null;
  #running: { readonly timer: NodeJS.Timeout; readonly elapsed: Promise<'over'> } | null = null;

  constructor(ms: number | null) {
    this.#ms = ms;
  }

  /** Starts at the end of a call, and is cancelled by the next call. Returns null while it does not run. */
  watch(isResting: boolean): Promise<'over'> | null {
    if (!isResting) this.end();
    else if (this.#ms !== null) this.#running ??= this.#begin(this.#ms);
    return this.#running?.elapsed ?? null;
  }

  end(): void {
    clearTimeout(this.#running?.timer);
    this.#running = null;
  }

  #begin(ms: number): { readonly timer: NodeJS.Timeout; readonly elapsed: Promise<'over'> } {
    const { promise, resolve } = Promise.withResolvers<'over'>();
    return { timer: setTimeout(() => resolve('over'), ms), elapsed: promise };
  }
}
