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
export const promptMarker = ({
  instructions,
  items,
}: Pick<TurnRequest, 'instructions' | 'items'>): string | null => {
  let left = MAX_CHARS;
  const markerIn = (text: string): string | null => {
    const beginning = text.slice(0, Math.min(MAX_TEXT_CHARS, left));
    left -= beginning.length;
    return MARKERS.find((one) => beginning.includes(one.text))?.name ?? null;
  };
  const first = instructions === null ? null : markerIn(instructions);
  if (first !== null) return first;
  for (const item of items) {
    if (item.kind !== 'message') continue;
    for (const part of item.parts) {
      if (left <= 0) return null;
      const marker = part.kind === 'text' ? markerIn(part.text) : null;
      if (marker !== null) return marker;
    }
  }
  return null;
};
