import type { Produced } from '../../canonical/request/item.ts';
import type { StopEarly, TurnEnded, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import type { Clock } from '../../kit/ambient.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import { countUsage, type CallerCounter } from '../count-tokens.ts';
import type { Plan } from '../engine.ts';
import type { Step } from './step.ts';

export interface CountDeps {
  readonly tokenizer: CallerCounter['tokenizer'];
  readonly clock: Clock;
  readonly stopEarly: StopEarly | null;
}

/** Counts the usage of answers that this server ends, for which the upstream therefore gives none, and of others if the API needs it. */
export const countEnds: Step<CountDeps> = {
  name: 'count-ends',
  why: 'An answer that this server ends early has no usage from upstream, and some upstreams never give one: Messages needs it. Around every step that may end an answer.',
  wrap:
    (next, { tokenizer, clock, stopEarly }) =>
    (request, context) => {
      const plan = next(request, context);
      const isLimited = request.maxOutputTokens !== null || request.stop.length > 0;
      if (!isLimited && request.needsUsage !== true && stopEarly === null && context.isSteered === undefined)
        return plan;
      const caller = context.caller.keyId;
      return { ...plan, run: (...how) => counted(plan, how, request, { tokenizer, clock, caller }) };
    },
};

async function* counted(
  plan: Plan,
  [signal, onSettled]: Parameters<Plan['run']>,
  request: TurnRequest,
  counter: CallerCounter,
): AsyncGenerator<TurnEvent> {
  const items: Produced[] = [];
  const count = () => unlessAborted(countUsage(request, items, { ...counter, signal }), signal);
  const source = plan.run(signal, onSettled)[Symbol.asyncIterator]();
  try {
    for (let step = await source.next(); step.done !== true; step = await source.next()) {
      const event = step.value;
      if (event.type === 'item-ended') items.push(event.item);
      if (request.needsUsage === true && lacksUsage(event)) {
        yield { ...event, usage: await count() };
        continue;
      }
      if (!isCutHere(event)) {
        yield event;
        continue;
      }
      // The turn is interrupted now, not after the count.
      const left = Promise.resolve(source.return?.());
      left.catch(() => {});
      yield { ...event, usage: addUsage(event.usage, await count()) };
      await left;
      return;
    }
  } finally {
    await source.return?.();
  }
}

const isCutHere = (event: TurnEvent): event is TurnEnded =>
  event.type === 'turn-ended' && event.isEndedHere === true && event.outcome.kind !== 'failed';

const lacksUsage = (event: TurnEvent): event is TurnEnded =>
  event.type === 'turn-ended' &&
  event.usage === null &&
  event.isEndedHere !== true &&
  event.outcome.kind !== 'failed';
