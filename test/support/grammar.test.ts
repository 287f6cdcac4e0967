import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import { checkGrammar } from './grammar.ts';

describe('checkGrammar', () => {
  const head = { kind: 'tool-call', id: 'c', tool: 'function', callId: 'k', name: 'f', input: '' } as const;
  const started: TurnEvent = { type: 'item-started', item: head };
  const said: TurnEvent = { type: 'item-delta', itemId: 'c', at: 'input', delta: 'x' };
  const ended: TurnEvent = { type: 'item-ended', item: { ...head, input: 'x' } };
  const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 };
  const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
  const part = (index: number): TurnEvent => ({
    type: 'item-delta',
    itemId: 'r',
    at: { list: 'summary', index },
    delta: '',
  });
  const reasoning = { kind: 'reasoning', id: 'r', summary: [] } as const;

  it.each<[string, readonly TurnEvent[], readonly string[]]>([
    ['nothing', [accepted, started, said, ended, end], []],
    [
      'a late acceptance',
      [started, said, ended, accepted, end],
      ['3 turn-accepted: it is not the first event'],
    ],
    ['an item that never ends', [started, said, end], ['2 turn-ended: c is still open']],
    ['a delta behind the end', [started, said, ended, said, end], ['3 item-delta: c is not open']],
    ['text without a delta', [started, ended, end], ['1 item-ended: its input is not what the deltas said']],
    [
      'a fact that changes',
      [started, said, { type: 'item-ended', item: { ...head, input: 'x', name: 'g' } }, end],
      ['2 item-ended: its name is another than at its start'],
    ],
    [
      'an item that begins twice',
      [started, said, ended, started, said, ended, end],
      ['3 item-started: c began before'],
    ],
    ['something behind the end', [end, end], ['0 turn-ended: it is not the last event']],
    ['no end', [], ['the turn does not end']],
    [
      'parts out of order',
      [
        { type: 'item-started', item: reasoning },
        part(1),
        part(0),
        { type: 'item-ended', item: reasoning },
        end,
      ],
      ['2 item-delta: summary 0 comes after 1'],
    ],
  ])('finds %s', (_, events, problems) => {
    expect(checkGrammar(events)).toEqual(problems);
  });
});
