import { partsOf, type Item } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';

/** So much of each text is looked at, and so much of all of them: prompts stand at the beginning. */
const MAX_TEXT_CHARS = 64 * 1024;
const MAX_CHARS = 512 * 1024;

/** What stands in a conversation whose model is told to write its calls as `<use_tool>` blocks. */
const MARKS = [
  { name: 'use-tool-block', text: '<use_tool>' },
  { name: 'agent-mode-prompt', text: '# Autonomous Agent Mode' },
] as const;

/** The first such mark in the instructions or any message of a request; null: there is none. */
export const promptMark = (request: Pick<TurnRequest, 'instructions' | 'items'>): string | null => {
  let left = MAX_CHARS;
  for (const text of textsOf(request)) {
    if (left <= 0) return null;
    const beginning = text.slice(0, Math.min(MAX_TEXT_CHARS, left));
    left -= beginning.length;
    const mark = MARKS.find((one) => beginning.includes(one.text));
    if (mark !== undefined) return mark.name;
  }
  return null;
};

function* textsOf({ instructions, items }: Pick<TurnRequest, 'instructions' | 'items'>): Generator<string> {
  if (instructions !== null) yield instructions;
  for (const item of items) yield* textsIn(item);
}

function* textsIn(item: Item): Generator<string> {
  if (item.kind !== 'message') return;
  for (const part of partsOf(item).parts) {
    if (part.kind === 'text') yield part.text;
  }
}
