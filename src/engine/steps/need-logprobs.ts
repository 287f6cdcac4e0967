import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { wordsOf } from '../../canonical/request/item.ts';
import { holdBack, release } from './hold-back.ts';
import type { Step } from './step.ts';

export interface LogprobDeps {
  readonly isStream: boolean;
  /** The longest wait before a stream begins. */
  readonly keepaliveMs: number;
}

/** Fails a turn without log probabilities if the client requires them. */
export const needLogprobs: Step<LogprobDeps> = {
  name: 'need-logprobs',
  why: 'Some backends accept the parameter and ignore it, which shows in their first text. Outermost, because it decides between an answer and an HTTP error.',
  wrap:
    (next, { isStream, keepaliveMs }) =>
    (request, context) => {
      const plan = next(request, context);
      if (!request.logprobs.isNeeded) return plan;
      return { ...plan, run: (...how) => requireLogprobs(plan.run(...how), isStream ? keepaliveMs : null) };
    },
};

/**
 * Holds the answer back until its first text. A stream waits at most `withinMs`: then it is committed, and missing log
 * probabilities are null. Null: the answer is sent whole.
 */
export async function* requireLogprobs(
  events: AsyncIterable<TurnEvent>,
  withinMs: number | null,
): AsyncGenerator<TurnEvent> {
  let isOpen = true;
  const held = yield* holdBack(events, {
    judge(event) {
      if (!isOpen) return 'send';
      isOpen = isUndecided(event, withinMs === null);
      return isOpen ? 'hold' : 'decide';
    },
    whenFull: 'decide',
    withinMs,
  });
  if (held !== null) yield* release(held);
}

/** Whether log probabilities may still come; throws if they are missing. */
const isUndecided = (event: TurnEvent, comesWhole: boolean): boolean => {
  if (event.type === 'item-delta') {
    // Only text has log probabilities.
    if (event.at === 'input' || event.at === 'refusal') return comesWhole;
    if (event.at !== 'text' || event.delta === '') return true;
    if (event.logprobs === undefined && !comesWhole) throw notGiven();
    return event.logprobs === undefined;
  }
  if (event.type !== 'item-ended' || event.item.kind !== 'message') return true;
  if (wordsOf(event.item, 'text') === '') return true;
  if (event.item.parts.some((part) => part.kind === 'text' && part.logprobs !== undefined)) return false;
  throw notGiven();
};

const notGiven = (): Error =>
  gatewayError('unsupported_parameter', {
    param: 'logprobs',
    message: "Unsupported parameter: 'logprobs': this backend does not return log probabilities.",
  });
