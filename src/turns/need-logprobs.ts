import { gatewayError } from '../canonical/failure/failure.ts';
import { wordsOf } from '../canonical/request/item.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { holdBack, release } from '../engine/steps/hold-back.ts';

/**
 * For a client that asked for log probabilities and accepts no answer without them. Some backends take the parameter
 * and ignore it, which shows in the first text that they send; so the answer is held back until then, and the client
 * gets an error instead of an incomplete answer. A stream waits no longer than `withinMs`: then it is committed, and
 * what is missing is null. Null: the answer is sent whole, and there is time.
 */
export async function* needLogprobs(
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

/** Whether log probabilities may still come; throws where they do not. */
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
