import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { handleEvents, type EventHandler } from '../../canonical/events/handle-events.ts';
import type { PlanTurn, Plan } from '../engine.ts';

/** Delays `onSettled` until it is certain that the turn is not run again, because a further run needs its slot. */
export class Settling {
  readonly #onSettled: (() => void) | undefined;
  #isSettled = false;
  #isLast = false;

  constructor(onSettled: (() => void) | undefined) {
    this.#onSettled = onSettled;
  }

  /** The turn no longer runs upstream. */
  readonly settle = (): void => {
    this.#isSettled = true;
    if (this.#isLast) this.#onSettled?.();
  };

  /** The turn will not be run again. */
  markLast(): void {
    if (this.#isLast) return;
    this.#isLast = true;
    if (this.#isSettled) this.#onSettled?.();
  }
}

/** Changes the events of a plan one by one. */
export const changeEvents = (plan: Plan, change: () => EventHandler): Plan => ({
  ...plan,
  run: (...how) => handleEvents(plan.run(...how), change),
});

/** Renames items whose ids the client has seen in an earlier answer of the same turn: backends may use ids again. */
export class FreshIds {
  readonly #used = new Set<string>();
  #renamed = new Map<string, string>();
  #hasRenamed = false;

  async *answer(events: AsyncIterable<TurnEvent>): AsyncGenerator<TurnEvent> {
    this.nextAnswer();
    for await (const event of events) yield this.rename(event);
  }

  nextAnswer(): void {
    this.#renamed = new Map();
  }

  rename(event: TurnEvent): TurnEvent {
    // Most are deltas of items that have kept their ids.
    if (event.type === 'item-delta' && !this.#hasRenamed) return event;
    const id = itemIdOf(event);
    if (id === null) return event;
    const fresh = this.#renamed.get(id) ?? this.#freshFor(id);
    if (fresh === id) return event;
    this.#hasRenamed = true;
    if (event.type === 'item-started' || event.type === 'item-ended') {
      return { ...event, item: { ...event.item, id: fresh } };
    }
    return event.type === 'item-delta' || event.type === 'item-status' ? { ...event, itemId: fresh } : event;
  }

  #freshFor(id: string): string {
    let fresh = id;
    for (let nth = 2; this.#used.has(fresh); nth += 1) fresh = `${id}_${nth}`;
    this.#used.add(fresh);
    this.#renamed.set(id, fresh);
    return fresh;
  }
}

/**
 * A transform of turns around the model's answer. `order.ts` lists all steps.
 *
 * A step wraps the planning of a turn: it may change the request, the plan, or the events of its run. A step that has
 * nothing to do for a request returns the plan of `next` as it is, and so adds nothing to the path of its events.
 */
export interface Step<Deps = never> {
  readonly name: string;
  /** Why it exists, and why in this place; printed into `docs/architecture.md`. */
  readonly why: string;
  wrap(next: PlanTurn, deps: Deps): PlanTurn;
}

/** Planning with these steps around it, the first outermost. */
export const withSteps = <Deps>(steps: readonly Step<Deps>[], plan: PlanTurn, deps: Deps): PlanTurn =>
  steps.reduceRight((next, step) => step.wrap(next, deps), plan);
