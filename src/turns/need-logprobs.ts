import { gatewayError } from '../canonical/failure/failure.ts';
import { wordsOf } from '../canonical/request/item.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';

/**
 * For a client that asked for log probabilities and gets no answer without them. Some backends take the
 * wish and ignore it, which shows in the first text that they send; so the answer is held back until then,
 * and the client gets an error and not an answer with a hole. A stream waits no longer than `withinMs`:
 * then it is committed, and what is missing is null. Null: the answer comes whole, and there is time.
 */
export async function* needLogprobs(
  events: AsyncIterable<TurnEvent>,
  withinMs: number | null,
): AsyncGenerator<TurnEvent> {
  const iterator = events[Symbol.asyncIterator]();
  const held: TurnEvent[] = [];
  let timer: NodeJS.Timeout | undefined;
  const late =
    withinMs === null
      ? null
      : new Promise<null>((resolve) => {
          timer = setTimeout(resolve, withinMs, null);
        });
  try {
    let next = iterator.next();
    const ahead = (): void => {
      next = iterator.next();
      // It is asked for before it is waited for.
      next.catch(() => {});
    };
    for (let isOpen = true; isOpen;) {
      const step = late === null ? await next : await Promise.race([next, late]);
      if (step === null || step.done === true) break;
      held.push(step.value);
      isOpen = isUndecided(step.value, withinMs === null);
      ahead();
    }
    clearTimeout(timer);
    yield* held;
    for (let step = await next; step.done !== true; step = await iterator.next()) yield step.value;
  } finally {
    clearTimeout(timer);
    await iterator.return?.();
  }
}

/** Whether it is still open if log probabilities come; throws where they do not. */
const isUndecided = (event: TurnEvent, comesWhole: boolean): boolean => {
  if (event.type === 'item-delta') {
    // What is no text has none.
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
