import { saidParts, type Item, type Said, type Slot } from '../../canonical/next/item.ts';
import { assertNever } from '../../kit/assert-never.ts';

/** What is known of an item when it begins: its texts are still to come, and what is sealed in it may change. */
export const headOf = (item: Item): Item => {
  switch (item.kind) {
    case 'message': {
      const { status: _, ...head } = item;
      return { ...head, parts: [] };
    }
    case 'reasoning':
      return { kind: 'reasoning', summary: [] };
    case 'tool-call': {
      const { status: _, ...head } = item;
      return { ...head, input: '' };
    }
    case 'hosted-call':
      return { kind: 'hosted-call', raw: item.raw };
    case 'tool-output':
    case 'compaction':
    case 'opaque':
      return item;
    default:
      return assertNever(item);
  }
};

/** What of an item is said in deltas. */
export const textsOf = (item: Item): readonly (readonly [Slot, string])[] => {
  switch (item.kind) {
    case 'message':
      return item.parts.flatMap((part) =>
        part.kind === 'text' || part.kind === 'refusal' ? [[part.kind, part.text] as const] : [],
      );
    case 'reasoning':
      return [
        ...item.summary.map((text, index) => [{ list: 'summary', index }, text] as const),
        ...(item.content ?? []).map((text, index) => [{ list: 'reasoning', index }, text] as const),
      ];
    case 'tool-call':
      return [['input', item.input]];
    case 'tool-output':
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return [];
    default:
      return assertNever(item);
  }
};

/** The whole item with the texts that were said of it: they are the same, unless a backend contradicts itself. */
export const withSaid = (whole: Item, said: Said): Item => {
  switch (whole.kind) {
    case 'message': {
      const text = whole.parts.find((part) => part.kind === 'text');
      const { annotations = said.annotations, logprobs = said.logprobs } = text ?? {};
      return {
        ...whole,
        parts: saidParts({ text: said.text, refusal: said.refusal, annotations, logprobs }),
      };
    }
    case 'reasoning':
      return {
        ...whole,
        summary: said.summary,
        ...(said.reasoning.length === 0 ? {} : { content: said.reasoning }),
      };
    case 'tool-call':
      return { ...whole, input: said.input };
    case 'tool-output':
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return whole;
    default:
      return assertNever(whole);
  }
};
