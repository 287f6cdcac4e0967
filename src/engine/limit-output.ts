import { OpenItems } from '../canonical/open-items.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Text this long is counted for good at its last space, so that a long answer is not counted again and again. */
const SETTLE_ABOVE = 256;

/**
 * `max_output_tokens` for backends that have no such limit: the visible output is counted as it
 * comes, cut at the limit, and the turn ends as incomplete. Leaving the source early interrupts it.
 */
export async function* limitOutput(
  events: AsyncIterable<TurnEvent>,
  maxTokens: number,
  tokenizer: Tokenizer,
): AsyncGenerator<TurnEvent> {
  const open = new OpenItems();
  let settled = 0;
  /** The text that still may grow into other tokens, and the item it belongs to. */
  let tail = { itemId: '', text: '' };
  let isNeeded = true;
  for await (const event of events) {
    if (event.type === 'turn-accepted') isNeeded = !event.limitsOutput;
    if (!isNeeded) {
      yield event;
      continue;
    }
    if (event.type !== 'text-delta' && event.type !== 'call-delta') {
      open.follow(event);
      yield event;
      continue;
    }
    if (tail.itemId !== event.itemId) {
      settled += tokenizer.count(tail.text);
      tail = { itemId: event.itemId, text: '' };
    }
    const before = tail.text;
    tail.text += event.delta;
    if (settled + tokenizer.count(tail.text) > maxTokens) {
      const allowed = tokenizer.head(tail.text, maxTokens - settled);
      const delta = allowed.slice(before.length);
      if (delta !== '') {
        const last = { ...event, delta };
        open.follow(last);
        yield last;
      }
      yield* open.endAll(false);
      const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
      yield { type: 'turn-ended', outcome, usage: null };
      return;
    }
    const space = tail.text.lastIndexOf(' ');
    if (tail.text.length > SETTLE_ABOVE && space > 0) {
      settled += tokenizer.count(tail.text.slice(0, space));
      tail.text = tail.text.slice(space);
    }
    open.follow(event);
    yield event;
  }
}
