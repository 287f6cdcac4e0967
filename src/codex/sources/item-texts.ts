import { saidParts, type Said, type Slot } from '../../canonical/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import type { Json } from '../../kit/json.ts';
import type { OutputItem } from './read-item.ts';

/** What is known of an item when it begins: its texts are still to come, and what is sealed in it may change. */
export const headOf = (item: OutputItem): OutputItem => {
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
    case 'compaction':
    case 'opaque':
      return item;
    default:
      return assertNever(item);
  }
};

/** What a client has read of an item at its start: it stays, whatever the whole item says. */
export const factsOf = (head: OutputItem): Partial<OutputItem> => {
  switch (head.kind) {
    case 'message': {
      const { parts: _, ...facts } = head;
      return facts;
    }
    case 'tool-call': {
      const { input: _, ...facts } = head;
      return facts;
    }
    case 'reasoning':
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return {};
    default:
      return assertNever(head);
  }
};

/** What of an item is said in deltas. */
export const textsOf = (item: OutputItem): readonly (readonly [Slot, string])[] => {
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
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return [];
    default:
      return assertNever(item);
  }
};

/** The whole item with the texts that were said of it: they are the same, unless a backend contradicts itself. */
export const withSaid = (whole: OutputItem, said: Said): OutputItem => {
  switch (whole.kind) {
    case 'message': {
      const text = whole.parts.find((part) => part.kind === 'text');
      const annotations = continued(said.annotations, text?.annotations);
      const logprobs = continued(said.logprobs, text?.logprobs);
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
    case 'hosted-call':
    case 'compaction':
    case 'opaque':
      return whole;
    default:
      return assertNever(whole);
  }
};

/** What came with the deltas, and what of the whole list comes behind it. */
const continued = (said: readonly Json[], whole: readonly Json[] = []): readonly Json[] => [
  ...said,
  ...whole.slice(said.length),
];
