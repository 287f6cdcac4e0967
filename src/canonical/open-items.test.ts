import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { turnEvents } from '../../test/support/turn-events.ts';
import { OpenItems } from './open-items.ts';
import type { TurnEvent } from './turn-event.ts';

const followed = (events: readonly TurnEvent[]): OpenItems => {
  const open = new OpenItems();
  for (const event of events) open.follow(event);
  return open;
};

const STARTED: readonly TurnEvent[] = [
  { type: 'reasoning-started', itemId: 'r' },
  { type: 'reasoning-summary-started', itemId: 'r', index: 0 },
  { type: 'reasoning-summary-delta', itemId: 'r', index: 1, delta: 'sum' },
  { type: 'reasoning-text-delta', itemId: 'r', index: 0, delta: 'raw' },
  { type: 'message-started', itemId: 'm', phase: 'commentary' },
  { type: 'text-delta', itemId: 'm', delta: 'a' },
  { type: 'text-delta', itemId: 'm', delta: 'b' },
  { type: 'refusal-delta', itemId: 'm', delta: 'no' },
  { type: 'call-started', itemId: 'c', callId: 'call_1', name: 'f' },
  { type: 'call-delta', itemId: 'c', delta: '{"a' },
];

describe('OpenItems', () => {
  it('ends what is open with what it holds so far, in the order in which it was opened', () => {
    const open = followed(STARTED);
    expect(open.endAll(false)).toEqual([
      {
        type: 'reasoning-ended',
        itemId: 'r',
        summary: ['', 'sum'],
        content: ['raw'],
        encryptedContent: null,
        complete: false,
      },
      {
        type: 'message-ended',
        itemId: 'm',
        text: 'ab',
        refusal: 'no',
        phase: 'commentary',
        annotations: [],
        logprobs: [],
        complete: false,
      },
      {
        type: 'call-ended',
        itemId: 'c',
        callId: 'call_1',
        name: 'f',
        arguments: '{"a',
        complete: false,
      },
    ]);
    expect(open.endAll(true)).toEqual([]);
  });

  it('knows the text so far', () => {
    const open = followed(STARTED);
    expect({
      message: open.textOf('m'),
      call: open.textOf('c'),
      reasoning: open.textOf('r'),
      unknown: open.textOf('x'),
      summary: open.reasoningOf('r', 'summary'),
      content: open.reasoningOf('r', 'content'),
      none: open.reasoningOf('m', 'summary'),
      open: ['m', 'c', 'r', 'x'].map((id) => open.has(id)),
    }).toEqual({
      message: 'ab',
      call: '{"a',
      reasoning: '',
      unknown: '',
      summary: ['', 'sum'],
      content: ['raw'],
      none: [],
      open: [true, true, true, false],
    });
  });

  it('has nothing open after a whole turn, whatever was in it', () => {
    fc.assert(
      fc.property(turnEvents, (events) => {
        expect(followed(events).endAll(true)).toEqual([]);
      }),
    );
  });

  it('completes any turn that breaks off anywhere: the deltas are the text of the end', () => {
    fc.assert(
      fc.property(turnEvents, fc.nat(100), (events, cut) => {
        const kept = events.slice(0, Math.floor((events.length * cut) / 100));
        const ends = followed(kept).endAll(false);
        for (const end of ends) {
          if (end.type !== 'message-ended') continue;
          const deltas = kept.flatMap((event) =>
            event.type === 'text-delta' && event.itemId === end.itemId ? [event.delta] : [],
          );
          expect(end.text).toBe(deltas.join(''));
        }
        expect(followed([...kept, ...ends]).endAll(false)).toEqual([]);
      }),
    );
  });
});
