import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/turn-event.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { arrange, type ArrangeOptions } from './arrange.ts';

const start = (itemId: string, phase: 'commentary' | null = null): TurnEvent => ({
  type: 'item-started',
  item: {
    kind: 'message',
    id: itemId,
    role: 'assistant',
    parts: [],
    ...(phase === null ? {} : { phase: phase }),
  },
});
const delta = (itemId: string, text: string): TurnEvent => ({
  type: 'item-delta',
  itemId: itemId,
  at: 'text',
  delta: text,
});
const end = (itemId: string, text: string): TurnEvent => ({
  type: 'item-ended',
  item: {
    kind: 'message',
    id: itemId,
    role: 'assistant',
    parts: [{ kind: 'text', text: text }],
    status: 'completed',
  },
});
const call: TurnEvent = {
  type: 'item-started',
  item: { kind: 'tool-call', id: 'fc', tool: 'function', callId: 'call_1', name: 'f', input: '' },
};
const ended: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
};

const arranged = (events: readonly TurnEvent[], options: Partial<ArrangeOptions> = {}) =>
  collect(arrange(emit(events), { showReasoning: true, showCommentary: true, ...options }));

describe('arrange', () => {
  it('puts messages that overlap one after the other, and lets all else pass', async () => {
    const mixed = [
      start('a'),
      start('b'),
      delta('b', 'B'),
      delta('a', 'A'),
      start('c'),
      call,
      end('b', 'B'),
      end('a', 'A'),
      end('c', ''),
      ended,
    ];
    expect(await arranged(mixed)).toEqual([
      start('a'),
      delta('a', 'A'),
      call,
      end('a', 'A'),
      start('b'),
      delta('b', 'B'),
      end('b', 'B'),
      start('c'),
      end('c', ''),
      ended,
    ]);
  });

  it('leaves commentary out of an answer that must be one JSON value', async () => {
    const events = [start('a', 'commentary'), delta('a', 'Hm.'), end('a', 'Hm.'), start('b'), end('b', '')];
    expect(await arranged(events, { showCommentary: false })).toEqual([start('b'), end('b', '')]);
    expect(await arranged(events)).toEqual(events);
  });

  it('leaves out what chat has no place for, and reasoning where it is off', async () => {
    const reasoning: TurnEvent[] = [
      { type: 'item-started', item: { kind: 'reasoning', id: 'r', summary: [] } },
      { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: '' },
      { type: 'item-delta', itemId: 'r', at: { list: 'summary', index: 0 }, delta: 'x' },
      { type: 'item-ended', item: { kind: 'reasoning', id: 'r', summary: ['x'], status: 'completed' } },
    ];
    const item = { kind: 'hosted-call', id: 'w', raw: { type: 'web_search_call' } } as const;
    const search: TurnEvent[] = [
      { type: 'item-started', item },
      { type: 'item-status', itemId: 'w', status: 'searching' },
      { type: 'item-ended', item },
    ];
    const events = [...reasoning, ...search, ended];
    expect(await arranged(events)).toEqual([...reasoning, ended]);
    expect(await arranged(events, { showReasoning: false })).toEqual([ended]);
  });
});
