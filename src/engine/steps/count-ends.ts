import type { Produced } from '../../canonical/request/item.ts';
import type { StopEarly, TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import type { Clock } from '../../kit/ambient.ts';
import { unlessAborted } from '../../kit/async/abort.ts';
import { countUsage, type Counting } from '../count-tokens.ts';
import type { Plan } from '../engine.ts';
import type { Step } from './step.ts';

export interface CountDeps {
  readonly tokenizer: Counting['tokenizer'];
  readonly clock: Clock;
  readonly stopEarly: StopEarly | null;
}

/** Counts the usage of answers that this server ends, for which the upstream therefore gives none. */
export const countEnds: Step<CountDeps> = {
  name: 'count-ends',
  why: 'An answer that this server ends early has no usage from upstream. Around every step that may end one.',
  wrap:
    (next, { tokenizer, clock, stopEarly }) =>
    (request, context) => {
      const plan = next(request, context);
      const isLimited = request.maxOutputTokens !== null || request.stop.length > 0;
      if (!isLimited && stopEarly === null && context.isSteered === undefined) return plan;
      const caller = context.caller.keyId;
      return { ...plan, run: (...how) => counted(plan, how, request, { tokenizer, clock, caller }) };
    },
};

async function* counted(
  plan: Plan,
  [signal, onSettled]: Parameters<Plan['run']>,
  request: TurnRequest,
  counter: Omit<Counting, 'signal'>,
): AsyncGenerator<TurnEvent> {
  const items: Produced[] = [];
  const source = plan.run(signal, onSettled)[Symbol.asyncIterator]();
  try {
    for (let step = await source.next(); step.done !== true; step = await source.next()) {
      const event = step.value;
      if (event.type === 'item-ended') items.push(event.item);
      if (!needsCount(event)) {
        yield event;
        continue;
      }
      // The turn is interrupted now, not after the count.
      const left = Promise.resolve(source.return?.());
      left.catch(() => {});
      const usage = await unlessAborted(countUsage(request, items, { ...counter, signal }), signal);
      yield { ...event, usage: addUsage(event.usage, usage) };
      await left;
      return;
    }
  } finally {
    await source.return?.();
  }
}

const needsCount = (event: TurnEvent): event is TurnEnded =>
  event.type === 'turn-ended' && event.isEndedHere === true && event.outcome.kind !== 'failed';
