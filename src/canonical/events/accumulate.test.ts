import { describe, expect, it } from 'vitest';

import { Accumulator } from './accumulate.ts';
import type { TurnEvent } from './turn-event.ts';

const added = (events: readonly TurnEvent[]): Accumulator => {
  const all = new Accumulator();
  for (const event of events) all.add(event);
  return all;
};

const STARTED: readonly TurnEvent[] = [
  { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
  { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: '' },
  { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 1 }, delta: 'sum' },
  { type: 'item-delta', itemId: 'r', at: { list: 'reasoning', index: 0 }, delta: 'raw' },
  {
    type: 'item-started',
    item: { kind: 'message', id: 'm', role: 'assistant', parts: [], phase: 'commentary' },
  },
  { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a', logprobs: [{ token: 'a' }] },
  { type: 'item-delta', itemId: 'm', at: 'text', delta: 'b', annotation: { type: 'url_citation' } },
  { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'no' },
  {
    type: 'item-started',
    item: { kind: 'tool-call', id: 'c', tool: 'function', callId: 'call_1', name: 'f', input: '' },
  },
  { type: 'item-delta', itemId: 'c', at: 'input', delta: '{"a' },
];

describe('Accumulator', () => {
  it('ends open items with their content so far, in the order they started', () => {
    const all = added(STARTED);
    expect(all.endOpen('incomplete')).toEqual([
      {
        type: 'item-ended',
        item: { kind: 'reasoning', id: 'r', summary: ['', 'sum'], content: ['raw'], status: 'incomplete' },
      },
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [
            {
              kind: 'text',
              text: 'ab',
              annotations: [{ type: 'url_citation' }],
              logprobs: [{ token: 'a' }],
            },
            { kind: 'refusal', text: 'no' },
          ],
          phase: 'commentary',
          status: 'incomplete',
        },
      },
      {
        type: 'item-ended',
        item: {
          kind: 'tool-call',
          id: 'c',
          tool: 'function',
          callId: 'call_1',
          name: 'f',
          input: '{"a',
          status: 'incomplete',
        },
      },
    ]);
    expect(all.endOpen('completed')).toEqual([]);
  });

  it('returns the content of open items only', () => {
    const all = added(STARTED);
    expect(all.textOf('m', 'text')).toBe('ab');
    expect(all.textOf('m', 'refusal')).toBe('no');
    expect(all.textOf('r', { list: 'summary', index: 1 })).toBe('sum');
    expect(all.textOf('r', { list: 'summary', index: 7 })).toBe('');
    expect(all.textOf('x', 'text')).toBe('');
    expect(all.startedItem('c')?.kind).toBe('tool-call');
    expect(all.startedItem('x')).toBe(null);
    expect(['r', 'm', 'c', 'x'].map((id) => all.indexOf(id))).toEqual([0, 1, 2, -1]);
  });

  it('orders the items of the reply by their start', () => {
    const all = added(STARTED);
    const ends = all.endOpen('completed').map(({ item }) => item);
    all.add({ type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 7 });
    expect(all.reply()).toEqual({ items: ends, outcome: { kind: 'completed' }, usage: null, endedAt: 7 });
  });

  it('throws if the turn has not ended or an item is still open', () => {
    expect(() => added(STARTED).reply()).toThrow('the turn has not ended');
    const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 7 };
    expect(() => added([...STARTED, end]).reply()).toThrow('item r was started and never ended');
  });
});
