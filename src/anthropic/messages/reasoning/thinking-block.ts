import type { Reasoning } from '../../../canonical/request/item.ts';
import { shownList, shownReasoning } from '../../../apis/arrange.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

/** Marks texts that clients keep and send back, so that only texts of this installation are read. */
export interface Signer {
  /** The text in a printable form, with a MAC. */
  sign(text: string): string;
  /** The signed text; null if another program made the signature, with another key, or if it was changed. */
  open(signature: string): string | null;
}

/** `omitted`: the client gets no text, but can send the reasoning back. */
export type ThinkingDisplay = 'summarized' | 'omitted';

interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/**
 * What a signature contains: everything of the reasoning item that the block does not show. The lengths cut the shown
 * text into the parts of the summary again, or of the raw reasoning.
 */
type Envelope = {
  /** In signatures of earlier versions. Later ones have it in the item. */
  readonly origin?: string;
  readonly item: Omit<Reasoning, 'kind' | 'summary'>;
} & (
  | { readonly lengths: readonly number[] }
  | { readonly summary: readonly string[]; readonly contentLengths?: readonly number[] }
);

/** Separates the parts of the shown text. Empty parts are not shown. */
export const SUMMARY_SEPARATOR = '\n\n';

/** The parts as one text. */
const thinkingText = (parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join(SUMMARY_SEPARATOR);

const lengthsOf = (parts: readonly string[]): readonly number[] => parts.map(({ length }) => length);

/** Reasoning as a block that its client can send back without loss. */
export const projectReasoning = (
  reasoning: Reasoning,
  display: ThinkingDisplay,
  signer: Signer,
): ThinkingBlock | RedactedThinkingBlock => {
  const { kind: _, summary, ...item } = reasoning;
  const seal = (envelope: Envelope): string => signer.sign(JSON.stringify(envelope));
  if (display === 'omitted') return { type: 'thinking', thinking: '', signature: seal({ item, summary }) };
  const thinking = thinkingText(shownReasoning(reasoning));
  if (thinking === '') return { type: 'redacted_thinking', data: seal({ item, summary }) };
  if (shownList(reasoning) === 'summary') {
    return { type: 'thinking', thinking, signature: seal({ item, lengths: lengthsOf(summary) }) };
  }
  const { content = [], ...hidden } = item;
  const envelope: Envelope = { item: hidden, summary, contentLengths: lengthsOf(content) };
  return { type: 'thinking', thinking, signature: seal(envelope) };
};

/**
 * The reasoning in a block that a client sent back, with its origin; null if it is not ours. A client that changed the text
 * keeps the reasoning, with its text as the summary or the raw reasoning.
 */
export const readReasoning = (block: JsonObject, signer: Signer): Reasoning | null => {
  const { thinking = '', signature = block['data'] } = block;
  const text = typeof signature === 'string' ? signer.open(signature) : null;
  if (text === null) return null;
  // Only this program signs, so it is an envelope.
  const envelope = JSON.parse(text) as Envelope;
  const shown = typeof thinking === 'string' ? thinking : '';
  const { origin } = envelope;
  const item = { kind: 'reasoning', ...(origin === undefined ? {} : { origin }), ...envelope.item } as const;
  if (!('summary' in envelope)) return { ...item, summary: partsOf(shown, envelope.lengths) };
  const { summary, contentLengths } = envelope;
  return {
    ...item,
    summary,
    ...(contentLengths === undefined ? {} : { content: partsOf(shown, contentLengths) }),
  };
};

const partsOf = (text: string, lengths: readonly number[]): readonly string[] => {
  const parts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (length > 0 && at > 0) at += SUMMARY_SEPARATOR.length;
    parts.push(text.slice(at, at + length));
    at += length;
  }
  if (at === text.length) return parts;
  return text === '' ? [] : [text];
};
