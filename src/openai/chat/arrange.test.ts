import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/turn-event.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { arrange, type ArrangeOptions } from './arrange.ts';

const start = (itemId: string, phase: 'commentary' | null = null): TurnEvent => ({
  type: 'message-started',
  itemId,
  phase,
});
const delta = (itemId: string, text: string): TurnEvent => ({ type: 'text-delta', itemId, delta: text });
const end = (itemId: string, text: string): TurnEvent => ({
  type: 'message-ended',
  itemId,
  text,
  refusal: null,
  phase: null,
  annotations: [],
  logprobs: [],
  complete: true,
});
const call: TurnEvent = { type: 'call-started', itemId: 'c', callId: 'call_1', name: 'f' };
const ended: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null };

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
      { type: 'reasoning-started', itemId: 'r' },
      { type: 'reasoning-summary-started', itemId: 'r', index: 0 },
      { type: 'reasoning-summary-delta', itemId: 'r', index: 0, delta: 'x' },
      {
        type: 'reasoning-ended',
        itemId: 'r',
        summary: ['x'],
        content: [],
        encryptedContent: null,
        complete: true,
      },
    ];
    const search: TurnEvent = { type: 'carried-item', itemId: 'w', wire: { type: 'web_search_call' } };
    const events = [...reasoning, search, ended];
    expect(await arranged(events)).toEqual([...reasoning, ended]);
    expect(await arranged(events, { showReasoning: false })).toEqual([ended]);
  });
});
