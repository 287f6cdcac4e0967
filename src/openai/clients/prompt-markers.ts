import { partsOf, type Item } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';

/** Limits on the searched text, per text and in total. Prompts are at the beginning. */
const MAX_TEXT_CHARS = 64 * 1024;
const MAX_CHARS = 512 * 1024;

/** Texts that show that the prompt tells the model to write its calls as `<use_tool>` blocks. */
const MARKERS = [
  { name: 'use-tool-block', text: '<use_tool>' },
  { name: 'agent-mode-prompt', text: '# Autonomous Agent Mode' },
] as const;

/** The first marker in the instructions or messages of a request, or null. */
export const promptMarker = (request: Pick<TurnRequest, 'instructions' | 'items'>): string | null => {
  let left = MAX_CHARS;
  for (const text of textsOf(request)) {
    if (left <= 0) return null;
    const beginning = text.slice(0, Math.min(MAX_TEXT_CHARS, left));
    left -= beginning.length;
    const marker = MARKERS.find((one) => beginning.includes(one.text));
    if (marker !== undefined) return marker.name;
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
