import type { Reasoning } from '../../../canonical/request/item.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { Signer } from './signer.ts';

/** `omitted`: the client gets no text, but can send the reasoning back. */
export type ThinkingDisplay = 'summarized' | 'omitted';

/** Who wrote the reasoning, and how it is signed. */
export interface ReasoningSource {
  readonly signer: Signer;
  /** The same for as long as it is the same backend with the same account: only that one can read the reasoning. */
  readonly origin: string;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

export interface RedactedThinkingBlock {
  readonly type: 'redacted_thinking';
  readonly data: string;
}

/**
 * What a signature contains: everything of the reasoning item that the block does not show. `lengths` cuts the shown
 * text into the parts of the summary again.
 */
type Envelope = {
  readonly origin: string;
  readonly item: Omit<Reasoning, 'kind' | 'summary'>;
} & ({ readonly lengths: readonly number[] } | { readonly summary: readonly string[] });

/** Separates the parts of a summary. Empty parts are not shown. */
export const SEPARATOR = '\n\n';

/** The summary as one text. */
const thinkingText = (summary: readonly string[]): string =>
  summary.filter((part) => part !== '').join(SEPARATOR);

/** Reasoning as a block that its client can send back without loss. */
export const projectReasoning = (
  reasoning: Reasoning,
  display: ThinkingDisplay,
  { signer, origin }: ReasoningSource,
): ThinkingBlock | RedactedThinkingBlock => {
  const { kind: _, summary, ...item } = reasoning;
  const seal = (envelope: Envelope): string => signer.sign(JSON.stringify(envelope));
  if (display === 'omitted')
    return { type: 'thinking', thinking: '', signature: seal({ origin, item, summary }) };
  const text = thinkingText(summary);
  if (text === '') return { type: 'redacted_thinking', data: seal({ origin, item, summary }) };
  const lengths = summary.map(({ length }) => length);
  return { type: 'thinking', thinking: text, signature: seal({ origin, item, lengths }) };
};

/**
 * The reasoning in a block that a client sent back; null if it is not ours, or another backend or account wrote it. A
 * client that changed the text keeps the reasoning, with its text as the summary.
 */
export const readReasoning = (block: JsonObject, { signer, origin }: ReasoningSource): Reasoning | null => {
  const { thinking = '', signature = block['data'] } = block;
  const text = typeof signature === 'string' ? signer.open(signature) : null;
  if (text === null) return null;
  // Only this program signs, so it is an envelope.
  const envelope = JSON.parse(text) as Envelope;
  if (envelope.origin !== origin) return null;
  const shown = typeof thinking === 'string' ? thinking : '';
  const summary = 'summary' in envelope ? envelope.summary : partsOf(shown, envelope.lengths);
  return { kind: 'reasoning', ...envelope.item, summary };
};

const partsOf = (text: string, lengths: readonly number[]): readonly string[] => {
  const parts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    if (length > 0 && at > 0) at += SEPARATOR.length;
    parts.push(text.slice(at, at + length));
    at += length;
  }
  if (at === text.length) return parts;
  return text === '' ? [] : [text];
};
