import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import { CallCounting } from './call-counting.ts';
import type { StopRules } from './stop-rules.ts';

export interface StopOptions {
  readonly clock: Clock;
  /** The turn is of no more use: whoever runs it is to end it, also while it is silent. */
  readonly leave: () => void;
}

/** Ends an answer behind its calls, by these rules. What the turn has cost is not known then. */
export const stopAfterTools = (
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  options: StopOptions,
): AsyncIterable<TurnEvent> => wellFormed(stopped(events, rules, options), options);

async function* stopped(
  events: AsyncIterable<TurnEvent>,
  rules: StopRules,
  { clock, leave }: StopOptions,
): AsyncGenerator<TurnEvent> {
  const counting = new CallCounting(rules);
  const grace = new Grace(rules.graceMs);
  const iterator = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const over = grace.watch(counting.isResting);
      const next = iterator.next();
      const step = await (over === null ? next : Promise.race([next, over]));
      if (step === 'over') next.catch(() => {});
      else if (step.done === true) return;
      else yield* counting.next(step.value);
      if (step === 'over' || counting.isFull) {
        leave();
        // Calls in the text are the text's: nothing else of the answer speaks of them.
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

/** The time behind a call in which another one may begin. */
class Grace {
  readonly #ms: number | null;
  #running: { readonly timer: NodeJS.Timeout; readonly over: Promise<'over'> } | null = null;

  constructor(ms: number | null) {
    this.#ms = ms;
  }

  /** It begins with the end of a call, and is forgotten with the beginning of the next. Null: it does not run. */
  watch(isResting: boolean): Promise<'over'> | null {
    if (!isResting) this.end();
    else if (this.#ms !== null) this.#running ??= this.#begin(this.#ms);
    return this.#running?.over ?? null;
  }

  end(): void {
    clearTimeout(this.#running?.timer);
    this.#running = null;
  }

  #begin(ms: number): { readonly timer: NodeJS.Timeout; readonly over: Promise<'over'> } {
    const { promise, resolve } = Promise.withResolvers<'over'>();
    return { timer: setTimeout(() => resolve('over'), ms), over: promise };
  }
}
