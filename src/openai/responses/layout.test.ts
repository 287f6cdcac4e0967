import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { collect, emit, fixedAmbient, turnEvents } from '../../../test/support/turn-events.ts';
import { callTold, END, messageTold } from '../../../test/support/told-items.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/turn-event.ts';
import { arrange, chooseLayout, type Layout } from './layout.ts';

const arranged = (events: readonly TurnEvent[], layout: Layout): Promise<TurnEvent[]> =>
  collect(arrange(emit(events), layout, fixedAmbient().ids));

/** The events in short: what begins, is said and ends, with its id. */
const short = (events: readonly TurnEvent[]): string[] =>
  events.map((event) => {
    const id = itemIdOf(event);
    return `${event.type}${id === null ? '' : ` ${id}`}${'delta' in event ? ` ${event.delta}` : ''}`;
  });

const reasoning = (itemId: string): TurnEvent[] => [
  { type: 'item-started', item: { kind: 'reasoning', id: itemId, summary: [] } },
  { type: 'item-delta', itemId: itemId, at: { list: 'summary', index: 0 }, delta: 'why' },
  { type: 'item-ended', item: { kind: 'reasoning', id: itemId, summary: ['why'], status: 'completed' } },
];
const call = (id: string): TurnEvent[] => callTold(id, '{}');

const EMPTY_LEAD = ['item-started msg_minted1', 'item-ended msg_minted1'];
const CALL = ['item-started c', 'item-delta c {}', 'item-ended c'];

describe('natural', () => {
  it('changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        expect(await arranged(events, 'natural')).toEqual(events);
      }),
    );
  });
});

describe('message-first', () => {
  it.each([
    ['a message alone', messageTold('m', 'a'), ['item-started m', 'item-delta m a', 'item-ended m']],
    ['a call alone gets an empty message', call('c'), [...EMPTY_LEAD, ...CALL]],
    [
      'a message before a call stays where it is',
      [...messageTold('m', 'a'), ...call('c')],
      ['item-started m', 'item-delta m a', 'item-ended m', ...CALL],
    ],
    [
      'a message behind a call stays behind it',
      [...call('c'), ...messageTold('m', 'a')],
      [...EMPTY_LEAD, ...CALL, 'item-started m', 'item-delta m a', 'item-ended m'],
    ],
    [
      'reasoning is left out',
      [...reasoning('r'), ...messageTold('m', 'a')],
      ['item-started m', 'item-delta m a', 'item-ended m'],
    ],
    ['reasoning and a call: an empty message', [...reasoning('r'), ...call('c')], [...EMPTY_LEAD, ...CALL]],
    [
      'a second message stands for itself',
      [...messageTold('m', 'a'), ...messageTold('n', 'b')],
      [
        'item-started m',
        'item-delta m a',
        'item-ended m',
        'item-started n',
        'item-delta n b',
        'item-ended n',
      ],
    ],
    ['nothing at all: an empty message', [], EMPTY_LEAD],
  ])('%s', async (_, events, expected) => {
    expect(short(await arranged([...events, END], 'message-first'))).toEqual([...expected, 'turn-ended']);
  });
});

describe('the layout of an answer', () => {
  const anybody = {
    asked: null,
    wantsReasoning: false,
    hasHostedTools: false,
    mayCompact: false,
    isCodex: false,
    standard: 'message-first',
  } as const;

  it.each([
    ['is that of the deployment', anybody, 'message-first'],
    ['is that of the deployment, whatever it is', { ...anybody, standard: 'natural' }, 'natural'],
    ['is natural for clients of codex', { ...anybody, isCodex: true }, 'natural'],
    ['is natural where reasoning is shown', { ...anybody, wantsReasoning: true }, 'natural'],
    ['is natural where the backend runs tools', { ...anybody, hasHostedTools: true }, 'natural'],
    ['is natural where the answer may hold a compaction', { ...anybody, mayCompact: true }, 'natural'],
    [
      'is what the client asks for, above all',
      { ...anybody, asked: 'message-first', wantsReasoning: true, isCodex: true },
      'message-first',
    ],
    ['is what the client asks for', { ...anybody, asked: 'natural' }, 'natural'],
  ] as const)('%s', (_, wishes, layout) => {
    expect(chooseLayout(wishes)).toBe(layout);
  });
});
