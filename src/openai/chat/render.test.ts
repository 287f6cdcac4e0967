import { describe, expect, it } from 'vitest';

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import {
  callStarted,
  END,
  messageEnded,
  messageStarted,
  textDelta,
} from '../../../test/support/item-events.ts';
import { collect, emit } from '../../../test/support/turn-events.ts';
import { arrangeChat, type ArrangeOptions } from './render.ts';

const arranged = (events: readonly TurnEvent[], options: Partial<ArrangeOptions> = {}) =>
  collect(arrangeChat(emit(events), { showReasoning: true, showCommentary: true, ...options }));

describe('arrange', () => {
  it('serializes overlapping messages, and passes everything else through', async () => {
    const mixed = [
      messageStarted('a'),
      messageStarted('b'),
      textDelta('b', 'B'),
      textDelta('a', 'A'),
      messageStarted('c'),
      callStarted('fc'),
      messageEnded('b', 'B'),
      messageEnded('a', 'A'),
      messageEnded('c', ''),
      END,
    ];
    expect(await arranged(mixed)).toEqual([
      messageStarted('a'),
      textDelta('a', 'A'),
      callStarted('fc'),
      messageEnded('a', 'A'),
      messageStarted('b'),
      textDelta('b', 'B'),
      messageEnded('b', 'B'),
      messageStarted('c'),
      messageEnded('c', ''),
      END,
    ]);
  });

  it('drops commentary if the answer must be one JSON value', async () => {
    const events = [
      messageStarted('a', { phase: 'commentary' }),
      textDelta('a', 'Hm.'),
      messageEnded('a', 'Hm.'),
      messageStarted('b'),
      messageEnded('b', ''),
    ];
    expect(await arranged(events, { showCommentary: false })).toEqual([
      messageStarted('b'),
      messageEnded('b', ''),
    ]);
    expect(await arranged(events)).toEqual(events);
  });

  it('drops items that Chat does not have, and reasoning if it is off', async () => {
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
    const events = [...reasoning, ...search, END];
    expect(await arranged(events)).toEqual([...reasoning, END]);
    expect(await arranged(events, { showReasoning: false })).toEqual([END]);
  });
});
