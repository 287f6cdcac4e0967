import * as fc from 'fast-check';

import { Accumulator } from '../../src/canonical/events/accumulate.ts';
import { failure } from '../../src/canonical/failure/failure.ts';
import type { Produced } from '../../src/canonical/request/item.ts';
import { itemIdOf, type Outcome, type TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { Usage } from '../../src/canonical/events/usage.ts';
import type { Ambient } from '../../src/kit/ambient.ts';
import { reasoning, shape, type Shape } from './item-shapes.ts';

/** The time of the fixed clock. */
const NOW = 1_800_000_000_000;

/** A fixed clock and sequential ids: the same input gives the same output. */
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

/** Prefixes of ids. */
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

/** Merges several rows of events; `picks` selects the row. Each keeps its own order. */
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

/** Any items in any order; or as models send them, with reasoning first. */
const shapes: fc.Arbitrary<Shape[]> = fc.oneof(
  fc.array(shape, { maxLength: 5 }),
  fc.array(fc.tuple(reasoning, shape), { maxLength: 3 }).map((pairs) => pairs.flat()),
);

/**
 * Any turn that keeps the grammar of turn events, with every kind of event. Items overlap; an incomplete turn
 * may break off anywhere.
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
    // The engine emits it for every turn with content.
    const accepted: TurnEvent[] = kept.length === 0 && !isWhole ? [] : [ACCEPTED];
    return [
      ...accepted,
      ...kept,
      ...items.endOpen('incomplete'),
      { type: 'turn-ended', outcome: turn.outcome, usage: turn.usage, at: NOW },
    ];
  });

/** The same turn without some items. */
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
