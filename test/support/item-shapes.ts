import * as fc from 'fast-check';

import { messageParts, type Produced, type Slot } from '../../src/canonical/request/item.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { HOSTED_ITEMS, type HostedItem } from './hosted-items.ts';

/** Text that breaks naive code: empty, spaces, frame ends, split emoji, half JSON. */
export const trickyText = fc.oneof(
  { weight: 3, arbitrary: fc.string({ maxLength: 12 }) },
  fc.constantFrom(
    '',
    ' ',
    '\n',
    '\r\n\r\n',
    'data: [DONE]\n\n',
    '😀',
    '\uD83D',
    '\uDE00',
    '{"a":',
    '</tool>',
    '<tool_',
    'call>',
    '<tool_call>{"name":"f"}</tool_call>',
    '<tool_call>{"name":"g","arguments":{}}</tool_call>',
    '<use_tool><name>f</name>',
    '</use_tool>',
    '\u2028',
    'event: x\n',
  ),
);

/** An item at its start, its deltas, and the complete item. */
export interface Shape {
  /** Prefix of its id, if its kind does not determine it. */
  readonly prefix?: string;
  readonly head: (id: string) => Produced;
  readonly told: readonly ItemChange[];
  readonly ended: (head: Produced) => Produced;
}
type ItemChange =
  | {
      readonly at: Slot;
      readonly delta: string;
      readonly logprobs?: readonly Json[];
      readonly annotation?: Json;
    }
  | { readonly status: string; readonly of?: string; readonly more?: JsonObject };

const CITATION = {
  type: 'url_citation',
  url: 'https://example.org',
  title: 't',
  start_index: 0,
  end_index: 0,
};
const tokenOf = (token: string): Json => ({ token, logprob: -0.5, bytes: [], top_logprobs: [] });

const texts = (max: number, min = 0) => fc.array(trickyText, { minLength: min, maxLength: max });

const message: fc.Arbitrary<Shape> = fc
  .record({
    deltas: texts(6),
    refusal: fc.option(texts(3, 1), { freq: 5 }),
    phase: fc.constantFrom({}, { phase: 'commentary' } as const, { phase: 'final_answer' } as const),
    /** Citations may be streamed, or be in the complete item only; so may log probabilities. */
    citation: fc.constantFrom('none', 'told', 'late'),
    logprobs: fc.constantFrom('none', 'none', 'told', 'late'),
  })
  .map(({ deltas, refusal, phase, citation, logprobs }) => {
    // Both belong to the text: without one both are missing.
    const hasText = deltas.join('') !== '';
    const tokens = hasText ? deltas.map(tokenOf) : [];
    return {
      head: (id) => ({ kind: 'message', id, role: 'assistant', parts: [], ...phase }),
      told: [
        ...deltas.map((delta, index) => ({
          at: 'text' as const,
          delta,
          ...(hasText && logprobs === 'told' ? { logprobs: tokens.slice(index, index + 1) } : {}),
        })),
        ...(hasText && citation === 'told' ? [{ at: 'text' as const, delta: '', annotation: CITATION }] : []),
        ...(refusal ?? []).map((delta) => ({ at: 'refusal' as const, delta })),
      ],
      ended: (head) =>
        ({
          ...head,
          parts: messageParts({
            text: deltas.join(''),
            refusal: refusal?.join('') ?? null,
            annotations: hasText && citation !== 'none' ? [CITATION] : [],
            logprobs: logprobs === 'none' ? [] : tokens,
          }),
          status: 'completed',
        }) as Produced,
    };
  });

const SUMMARY_FIRST = ['summary', 'reasoning'] as const;
const RAW_FIRST = ['reasoning', 'summary'] as const;

export const reasoning: fc.Arbitrary<Shape> = fc
  .record({
    summary: fc.array(texts(3), { maxLength: 3 }),
    content: fc.array(texts(3, 1), { maxLength: 2 }),
    encrypted: fc.option(trickyText, { nil: null }),
    isRawFirst: fc.boolean(),
  })
  .map(({ summary, content, encrypted, isRawFirst }) => ({
    head: (id) => ({ kind: 'reasoning', id, summary: [] }),
    told: (isRawFirst ? RAW_FIRST : SUMMARY_FIRST).flatMap((list) =>
      (list === 'summary' ? summary.map((deltas) => ['', ...deltas]) : content).flatMap((deltas, index) =>
        deltas.map((delta) => ({ at: { list, index }, delta })),
      ),
    ),
    ended: (head) =>
      ({
        ...head,
        summary: summary.map((deltas) => deltas.join('')),
        ...(content.length === 0 ? {} : { content: content.map((deltas) => deltas.join('')) }),
        ...(encrypted === null ? {} : { encryptedContent: encrypted }),
        status: 'completed',
      }) as Produced,
  }));

const call: fc.Arbitrary<Shape> = fc
  .record({
    tool: fc.constantFrom('function' as const, 'function' as const, 'custom' as const),
    deltas: texts(4),
    name: fc.constantFrom('get_weather', 'b'),
    namespace: fc.constantFrom({}, {}, { namespace: 'n' }),
  })
  .map(({ tool, deltas, name, namespace }) => ({
    head: (id) => ({ kind: 'tool-call', id, tool, callId: `call_${id}`, name, ...namespace, input: '' }),
    told: deltas.map((delta) => ({ at: 'input', delta })),
    ended: (head) => ({ ...head, input: deltas.join(''), status: 'completed' }) as Produced,
  }));

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const hostedShape = ({ prefix, initial, ended, events }: HostedItem): Shape => {
  const kind = initial.type.endsWith('_call') ? 'hosted-call' : 'opaque';
  return {
    prefix,
    head: (id) => ({ kind, id, raw: { ...initial, ...idsOf(initial, id) } }),
    told: events.map(([type, more]): ItemChange => {
      const [of = '', status = ''] = type.split('.');
      // Some of them are known to be text.
      if (status === 'delta' && !of.startsWith('shell'))
        return { at: 'input', delta: textOf(more?.['delta']) };
      return {
        status,
        ...(of === initial.type ? {} : { of }),
        ...(more === undefined ? {} : { more }),
      };
    }),
    ended: ({ id }) => ({ kind, id, raw: { ...initial, ...ended, ...idsOf(initial, id) } }),
  };
};

/** The ids of an item that is passed through. An answer may have several of a kind, and no two calls share an id. */
const idsOf = (raw: JsonObject, id: string): JsonObject =>
  'call_id' in raw ? { id, call_id: `call_${id}` } : { id };

const SEARCH = { type: 'tool_search_call', call_id: 'c', execution: 'client' } as const;

/** Items that are passed through unread. */
const whole = fc.constantFrom<Shape[]>(
  ...Object.values<HostedItem>(HOSTED_ITEMS).map(hostedShape),
  {
    prefix: 'tsc',
    head: (id) => ({
      kind: 'hosted-call',
      id,
      raw: { ...SEARCH, ...idsOf(SEARCH, id), status: 'in_progress', arguments: {} },
    }),
    told: [],
    ended: ({ id }) => ({
      kind: 'hosted-call',
      id,
      raw: { ...SEARCH, ...idsOf(SEARCH, id), status: 'completed', arguments: { query: 'q' } },
    }),
  },
  {
    head: (id) => ({ kind: 'compaction', id, encryptedContent: 'secret' }),
    told: [],
    ended: (head) => head,
  },
  {
    head: (id) => ({ kind: 'compaction', id, summary: 'All was well.' }),
    told: [],
    ended: (head) => head,
  },
  {
    head: (id) => ({ kind: 'opaque', id, raw: { type: 'something_new', id } }),
    told: [
      { at: 'input', delta: 'in' },
      { at: 'output', delta: 'out' },
    ],
    ended: (head) => head,
  },
);

/** Any item. */
export const shape: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 3, arbitrary: message },
  reasoning,
  { weight: 2, arbitrary: call },
  whole,
);
