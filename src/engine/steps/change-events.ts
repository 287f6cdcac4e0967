import type { TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Plan } from '../engine.ts';

/** Changes single events of one run. */
export interface EventChange {
  event(event: TurnEvent): TurnEvent;
  /** The end of a turn whose run threw; throws if it stays an error. */
  thrown?(error: unknown): TurnEnded;
}

/** Plans made by `changeEvents`: the plan inside, and its changes. */
const changing = new WeakMap<
  Plan,
  { readonly plan: Plan; readonly changes: readonly (() => EventChange)[] }
>();

/** Changes the events of a plan one by one. Nested changes share one generator. */
export const changeEvents = (plan: Plan, change: () => EventChange): Plan => {
  const { plan: inner, changes } = changing.get(plan) ?? { plan, changes: [] };
  const all = [...changes, change];
  const changed: Plan = { ...plan, run: (...how) => run(inner.run(...how), all) };
  changing.set(changed, { plan: inner, changes: all });
  return changed;
};

async function* run(
  events: AsyncIterable<TurnEvent>,
  opened: readonly (() => EventChange)[],
): AsyncGenerator<TurnEvent> {
  const changes = opened.map((open) => open());
  const changedFrom = (first: number, given: TurnEvent): TurnEvent => {
    let event = given;
    for (let nth = first; nth < changes.length; nth += 1) event = changes[nth]?.event(event) ?? event;
    return event;
  };
  let thrown: unknown;
  try {
    for await (const event of events) yield changedFrom(0, event);
    return;
  } catch (error) {
    thrown = error;
  }
  for (const [nth, change] of changes.entries()) {
    try {
      const end = change.thrown?.(thrown);
      if (end === undefined) continue;
      yield changedFrom(nth + 1, end);
      return;
    } catch (error) {
      thrown = error;
    }
  }
  throw thrown;
}
