import { OpenItems } from '../canonical/open-items.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { Tokenizer } from './tokenizer.ts';

/** Text this long is counted for good up to its last space, so that a long answer is not counted again and again. */
const SETTLE_ABOVE = 256;
/** Text without a space is counted for good here: a token more or less is better than no end. */
const SETTLE_ANYWAY_ABOVE = 512;

/**
 * `max_output_tokens` for backends that have no such limit: the visible output is counted as it
 * comes, cut at the limit, and the turn ends as incomplete. Leaving the source early interrupts it.
 */
export async function* limitOutput(
  events: AsyncIterable<TurnEvent>,
  maxTokens: number,
  loadTokenizer: () => Promise<Tokenizer>,
): AsyncGenerator<TurnEvent> {
  let tokenizer: Tokenizer | null = null;
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
    tokenizer ??= await loadTokenizer();
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
    const end = settledEnd(tail.text);
    if (end > 0) {
      settled += tokenizer.count(tail.text.slice(0, end));
      tail.text = tail.text.slice(end);
    }
    open.follow(event);
    yield event;
  }
}

/** How much of the text can no longer grow into other tokens; 0: leave it. */
const settledEnd = (text: string): number => {
  if (text.length <= SETTLE_ABOVE) return 0;
  const space = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\n'));
  return space <= 0 && text.length > SETTLE_ANYWAY_ABOVE ? text.length : Math.max(space, 0);
};
