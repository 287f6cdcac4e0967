import { expect, it } from 'vitest';

import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { ItemQueue } from './arrange.ts';

const started = (id: string): TurnEvent => ({
  type: 'item-started',
  item: { kind: 'message', id, role: 'assistant', parts: [] },
});
const said = (itemId: string, delta: string): TurnEvent => ({
  type: 'item-delta',
  itemId,
  at: 'text',
  delta,
});
const ended = (id: string): TurnEvent => ({
  type: 'item-ended',
  item: { kind: 'message', id, role: 'assistant', parts: [], status: 'completed' },
});

const inLine = (events: readonly (readonly [TurnEvent, string])[]): readonly TurnEvent[] => {
  const line = new ItemQueue();
  return events.flatMap(([event, itemId]) => [...line.take(event, itemId)]);
};

it('emits items one after the other, even if the next one is still open', () => {
  const events = [
    [started('a'), 'a'],
    [started('b'), 'b'],
    [started('c'), 'c'],
    [said('c', '1'), 'c'],
    [said('b', '2'), 'b'],
    [ended('c'), 'c'],
    [said('a', '3'), 'a'],
    [ended('a'), 'a'],
    [said('b', '4'), 'b'],
    [ended('b'), 'b'],
    [started('d'), 'd'],
  ] as const;
  expect(inLine(events)).toEqual([
    started('a'),
    said('a', '3'),
    ended('a'),
    started('b'),
    said('b', '2'),
    said('b', '4'),
    ended('b'),
    started('c'),
    said('c', '1'),
    ended('c'),
    started('d'),
  ]);
});

it('accepts any number of open items', () => {
  const ids = Array.from({ length: 20_000 }, (_, index) => `m${index}`);
  const events = [started, ended].flatMap((make) => ids.map((id) => [make(id), id] as const));
  expect(inLine(events)).toEqual(ids.flatMap((id) => [started(id), ended(id)]));
});
