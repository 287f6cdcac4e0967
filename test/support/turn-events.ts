import * as fc from 'fast-check';

import { failure } from '../../src/canonical/failure.ts';
import { OpenItems } from '../../src/canonical/open-items.ts';
import type { Outcome } from '../../src/canonical/outcome.ts';
import type { TurnEvent } from '../../src/canonical/turn-event.ts';
import type { Usage } from '../../src/canonical/usage.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import type { Ambient } from '../../src/kit/ambient.ts';

/** A clock that stands still and ids that count: the same input gives the same output. */
export const fixedAmbient = (): Ambient => {
  let count = 0;
  return {
    clock: { now: () => 1_800_000_000_000 },
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

const phase = fc.constantFrom(null, 'commentary' as const, 'final_answer' as const);

type Shape =
  | {
      kind: 'message';
      deltas: string[];
      refusal: string[] | null;
      phase: 'commentary' | 'final_answer' | null;
      annotations: boolean;
    }
  | { kind: 'reasoning'; summary: string[][]; content: string[][]; encrypted: string | null }
  | { kind: 'call'; deltas: string[]; name: string }
  | { kind: 'carried' };

const reasoning: fc.Arbitrary<Shape> = fc.record({
  kind: fc.constant('reasoning' as const),
  summary: fc.array(fc.array(trickyText, { maxLength: 3 }), { maxLength: 3 }),
  content: fc.array(fc.array(trickyText, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  encrypted: fc.option(trickyText, { nil: null }),
});

const shape: fc.Arbitrary<Shape> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      deltas: fc.array(trickyText, { maxLength: 6 }),
      refusal: fc.option(fc.array(trickyText, { minLength: 1, maxLength: 3 }), { freq: 5 }),
      phase,
      annotations: fc.boolean(),
    }),
  },
  reasoning,
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      deltas: fc.array(trickyText, { maxLength: 4 }),
      name: fc.constantFrom('get_weather', 'b'),
    }),
  },
  fc.record({ kind: fc.constant('carried' as const) }),
);

const eventsOf = (item: Shape, index: number): TurnEvent[] => {
  switch (item.kind) {
    case 'message': {
      const itemId = `msg_${index}`;
      return [
        { type: 'message-started', itemId, phase: item.phase },
        ...item.deltas.map((delta) => ({ type: 'text-delta', itemId, delta }) as const),
        ...(item.refusal ?? []).map((delta) => ({ type: 'refusal-delta', itemId, delta }) as const),
        {
          type: 'message-ended',
          itemId,
          text: item.deltas.join(''),
          refusal: item.refusal?.join('') ?? null,
          logprobs: [],
          phase: item.phase,
          annotations: item.annotations
            ? [{ type: 'url_citation', url: 'https://example.org', title: 't', start_index: 0, end_index: 0 }]
            : [],
          complete: true,
        },
      ];
    }
    case 'reasoning': {
      const itemId = `rs_${index}`;
      return [
        { type: 'reasoning-started', itemId },
        ...item.summary.flatMap((deltas, part) => [
          { type: 'reasoning-summary-started', itemId, index: part } as const,
          ...deltas.map(
            (delta) => ({ type: 'reasoning-summary-delta', itemId, index: part, delta }) as const,
          ),
        ]),
        ...item.content.flatMap((deltas, part) =>
          deltas.map((delta) => ({ type: 'reasoning-text-delta', itemId, index: part, delta }) as const),
        ),
        {
          type: 'reasoning-ended',
          itemId,
          summary: item.summary.map((deltas) => deltas.join('')),
          content: item.content.map((deltas) => deltas.join('')),
          encryptedContent: item.encrypted,
          complete: true,
        },
      ];
    }
    case 'call': {
      const itemId = `fc_${index}`;
      const callId = `call_${index}`;
      return [
        { type: 'call-started', itemId, callId, name: item.name },
        ...item.deltas.map((delta) => ({ type: 'call-delta', itemId, delta }) as const),
        {
          type: 'call-ended',
          itemId,
          callId,
          name: item.name,
          arguments: item.deltas.join(''),
          complete: true,
        },
      ];
    }
    case 'carried':
      return [
        {
          type: 'carried-item',
          itemId: `ws_${index}`,
          wire: {
            type: 'web_search_call',
            id: `ws_${index}`,
            status: 'completed',
            action: { type: 'search', query: 'q', queries: ['q'] },
          },
        },
      ];
    default:
      return assertNever(item);
  }
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
const items: fc.Arbitrary<Shape[]> = fc.oneof(
  fc.array(shape, { maxLength: 5 }),
  fc.array(fc.tuple(reasoning, shape), { maxLength: 3 }).map((pairs) => pairs.flat()),
);

/** Any turn that keeps the grammar of turn events; a turn that did not complete may break off anywhere. */
export const turnEvents: fc.Arbitrary<TurnEvent[]> = fc
  .record({ items, outcome, usage, cut: fc.nat(100) })
  .map((turn) => {
    const all = turn.items.flatMap(eventsOf);
    const isWhole = turn.outcome.kind === 'completed' || turn.outcome.kind === 'tool-calls';
    const kept = isWhole ? all : all.slice(0, Math.ceil((all.length * turn.cut) / 100));
    const open = new OpenItems();
    for (const event of kept) open.follow(event);
    // The engine says so of every turn that came to something.
    const accepted: TurnEvent[] = kept.length === 0 && !isWhole ? [] : [ACCEPTED];
    return [
      ...accepted,
      ...kept,
      ...open.endAll(false),
      { type: 'turn-ended', outcome: turn.outcome, usage: turn.usage },
    ];
  });
