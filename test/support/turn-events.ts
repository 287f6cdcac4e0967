import * as fc from 'fast-check';

import { Accumulator } from '../../src/canonical/accumulate.ts';
import { failure } from '../../src/canonical/failure.ts';
import { saidParts, type Produced, type Slot } from '../../src/canonical/item.ts';
import type { Outcome } from '../../src/canonical/outcome.ts';
import { itemIdOf, type TurnEvent } from '../../src/canonical/turn-event.ts';
import type { Usage } from '../../src/canonical/usage.ts';
import type { Ambient } from '../../src/kit/ambient.ts';
import type { Json, JsonObject } from '../../src/kit/json.ts';
import { HOSTED_ITEMS, type HostedItem } from './hosted-items.ts';

/** What a clock that stands still says. */
const NOW = 1_800_000_000_000;

/** A clock that stands still and ids that count: the same input gives the same output. */
export const fixedAmbient = (): Ambient => {
  let count = 0;
  return {
    clock: { now: () => NOW },
    ids: {
      mint(prefix) {
        count += 1;
        return `${prefix}_minted${count}`;
      },
    },
  };
};

export async function* emit(events: readonly TurnEvent[]): AsyncGenerator<TurnEvent> {
  yield* events;
}

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

/** Text that breaks naive code: nothing, spaces, ends of frames, emoji cut in two, half JSON. */
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
    '\u2028',
    'event: x\n',
  ),
);

const usage: fc.Arbitrary<Usage | null> = fc.option(
  fc.record({
    inputTokens: fc.nat(1000),
    cachedInputTokens: fc.nat(100),
    cacheWriteInputTokens: fc.nat(100),
    outputTokens: fc.nat(1000),
    reasoningTokens: fc.nat(100),
    totalTokens: fc.nat(2000),
  }),
);

/** What is known of an item at its start, what is said of it, and what it is at its end. */
interface Shape {
  /** What its id begins with, where its kind does not say. */
  readonly prefix?: string;
  readonly head: (id: string) => Produced;
  readonly told: readonly Telling[];
  readonly ended: (head: Produced) => Produced;
}
type Telling =
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
    /** Citations may be told as they come, or stand in the ended item only; so may log probabilities. */
    citation: fc.constantFrom('none', 'told', 'late'),
    logprobs: fc.constantFrom('none', 'none', 'told', 'late'),
  })
  .map(({ deltas, refusal, phase, citation, logprobs }) => {
    // Both are about the text: without one there are none.
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
          parts: saidParts({
            text: deltas.join(''),
            refusal: refusal?.join('') ?? null,
            annotations: hasText && citation !== 'none' ? [CITATION] : [],
            logprobs: logprobs === 'none' ? [] : tokens,
          }),
          status: 'completed',
        }) as Produced,
    };
  });

const reasoning: fc.Arbitrary<Shape> = fc
  .record({
    summary: fc.array(texts(3), { maxLength: 3 }),
    content: fc.array(texts(3, 1), { maxLength: 2 }),
    encrypted: fc.option(trickyText, { nil: null }),
  })
  .map(({ summary, content, encrypted }) => ({
    head: (id) => ({ kind: 'reasoning', id, summary: [] }),
    told: [
      ...summary.flatMap((deltas, index) =>
        ['', ...deltas].map((delta) => ({ at: { list: 'summary', index } as const, delta })),
      ),
      ...content.flatMap((deltas, index) =>
        deltas.map((delta) => ({ at: { list: 'reasoning', index } as const, delta })),
      ),
    ],
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
  })
  .map(({ tool, deltas, name }) => ({
    head: (id) => ({ kind: 'tool-call', id, tool, callId: `call_${id}`, name, input: '' }),
    told: deltas.map((delta) => ({ at: 'input', delta })),
    ended: (head) => ({ ...head, input: deltas.join(''), status: 'completed' }) as Produced,
  }));

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const hostedShape = ({ prefix, begun, ended, said }: HostedItem): Shape => {
  const kind = begun.type.endsWith('_call') ? 'hosted-call' : 'opaque';
  return {
    prefix,
    head: (id) => ({ kind, id, raw: { ...begun, id } }),
    told: said.map(([type, more]): Telling => {
      const [of = '', status = ''] = type.split('.');
      // Some of them are known to be text.
      if (status === 'delta' && !of.startsWith('shell'))
        return { at: 'input', delta: textOf(more?.['delta']) };
      return {
        status,
        ...(of === begun.type ? {} : { of }),
        ...(more === undefined ? {} : { more }),
      };
    }),
    ended: ({ id }) => ({ kind, id, raw: { ...begun, ...ended, id } }),
  };
};

/** Items of which nobody reads more than that they are there. */
const whole = fc.constantFrom<Shape[]>(
  ...Object.values<HostedItem>(HOSTED_ITEMS).map(hostedShape),
  {
    head: (id) => ({ kind: 'compaction', id, encryptedContent: 'secret' }),
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

const shape: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 3, arbitrary: message },
  reasoning,
  { weight: 2, arbitrary: call },
  whole,
);

/** What ids begin with. */
const PREFIXES: Readonly<Record<Produced['kind'], string>> = {
  message: 'msg',
  reasoning: 'rs',
  'tool-call': 'fc',
  'hosted-call': 'ws',
  compaction: 'cmp',
  opaque: 'x',
};

const eventsOf = ({ prefix, head, told, ended }: Shape, index: number): TurnEvent[] => {
  const started = head('');
  const usual = started.kind === 'tool-call' && started.tool === 'custom' ? 'ctc' : PREFIXES[started.kind];
  const itemId = `${prefix ?? usual}_${index}`;
  const item = head(itemId);
  return [
    { type: 'item-started', item },
    ...told.map((one): TurnEvent =>
      'status' in one ? { type: 'item-status', itemId, ...one } : { type: 'item-delta', itemId, ...one },
    ),
    { type: 'item-ended', item: ended(item) },
  ];
};

/** One row of events out of several; `picks` says whose turn it is. Each keeps its own order. */
const mixed = (rows: readonly TurnEvent[][], picks: readonly number[]): TurnEvent[] => {
  const left = rows.map((row) => [...row]);
  const all: TurnEvent[] = [];
  for (const pick of picks) {
    const open = left.filter((row) => row.length > 0);
    // Two or three at a time, as they overlap in real answers.
    const next = open[pick % Math.min(3, open.length || 1)]?.shift();
    if (next !== undefined) all.push(next);
  }
  return [...all, ...left.flat()];
};

const outcome: fc.Arbitrary<Outcome> = fc.constantFrom<Outcome[]>(
  { kind: 'completed' },
  { kind: 'tool-calls' },
  { kind: 'incomplete', reason: 'max_output_tokens' },
  { kind: 'incomplete', reason: 'content_filter' },
  { kind: 'failed', failure: failure('upstream_error') },
  { kind: 'failed', failure: failure('rate_limit_exceeded', { retryAfterSeconds: 3 }) },
);

const ACCEPTED: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };

/** Any items in any order; or as models have them, who reason before they say or do something. */
const shapes: fc.Arbitrary<Shape[]> = fc.oneof(
  fc.array(shape, { maxLength: 5 }),
  fc.array(fc.tuple(reasoning, shape), { maxLength: 3 }).map((pairs) => pairs.flat()),
);

/**
 * Any turn that keeps the grammar of turn events, with every event there is. Items overlap; a turn that
 * did not complete may break off anywhere.
 */
export const turnEvents: fc.Arbitrary<TurnEvent[]> = fc
  .record({
    shapes,
    outcome,
    usage,
    cut: fc.nat(100),
    picks: fc.oneof(fc.constant([]), fc.array(fc.nat(5), { maxLength: 60 })),
  })
  .map((turn) => {
    const all = mixed(turn.shapes.map(eventsOf), turn.picks);
    const isWhole = turn.outcome.kind === 'completed' || turn.outcome.kind === 'tool-calls';
    const kept = isWhole ? all : all.slice(0, Math.ceil((all.length * turn.cut) / 100));
    const items = new Accumulator();
    for (const event of kept) items.add(event);
    // The engine says so of every turn that came to something.
    const accepted: TurnEvent[] = kept.length === 0 && !isWhole ? [] : [ACCEPTED];
    return [
      ...accepted,
      ...kept,
      ...items.endOpen('incomplete'),
      { type: 'turn-ended', outcome: turn.outcome, usage: turn.usage, at: NOW },
    ];
  });

/** The same turn without the items that one does not want to hear of. */
export const withoutItems = (
  events: readonly TurnEvent[],
  isUnwanted: (item: Produced) => boolean,
): TurnEvent[] => {
  const out = new Set<string>();
  return events.filter((event) => {
    if (event.type === 'item-started' && isUnwanted(event.item)) out.add(event.item.id);
    return !out.has(itemIdOf(event) ?? '');
  });
};
