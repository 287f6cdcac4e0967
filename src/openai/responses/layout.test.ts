import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { collect, emit, fixedAmbient, turnEvents } from '../../../test/support/turn-events.ts';
import type { TurnEvent } from '../../canonical/turn-event.ts';
import { arrange, chooseLayout, type Layout } from './layout.ts';

const arranged = (events: readonly TurnEvent[], layout: Layout): Promise<TurnEvent[]> =>
  collect(arrange(emit(events), layout, fixedAmbient().ids));

/** The events in short: what begins, is said and ends, with its id. */
const short = (events: readonly TurnEvent[]): string[] =>
  events.map((event) => {
    const id = 'itemId' in event ? ` ${event.itemId}` : '';
    return `${event.type}${id}${'delta' in event ? ` ${event.delta}` : ''}`;
  });

const message = (itemId: string, text: string): TurnEvent[] => [
  { type: 'message-started', itemId, phase: null },
  { type: 'text-delta', itemId, delta: text },
  {
    type: 'message-ended',
    itemId,
    text,
    refusal: null,
    phase: null,
    annotations: [],
    logprobs: [],
    complete: true,
  },
];
const reasoning = (itemId: string): TurnEvent[] => [
  { type: 'reasoning-started', itemId },
  { type: 'reasoning-summary-delta', itemId, index: 0, delta: 'why' },
  { type: 'reasoning-ended', itemId, summary: ['why'], content: [], encryptedContent: null, complete: true },
];
const call = (itemId: string): TurnEvent[] => [
  { type: 'call-started', itemId, callId: `call_${itemId}`, name: 'f' },
  { type: 'call-delta', itemId, delta: '{}' },
  { type: 'call-ended', itemId, callId: `call_${itemId}`, name: 'f', arguments: '{}', complete: true },
];
const END: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null };

const EMPTY_LEAD = ['message-started msg_minted1', 'message-ended msg_minted1'];
const CALL = ['call-started c', 'call-delta c {}', 'call-ended c'];

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
    ['a message alone', message('m', 'a'), ['message-started m', 'text-delta m a', 'message-ended m']],
    ['a call alone gets an empty message', call('c'), [...EMPTY_LEAD, ...CALL]],
    [
      'a message before a call stays where it is',
      [...message('m', 'a'), ...call('c')],
      ['message-started m', 'text-delta m a', 'message-ended m', ...CALL],
    ],
    [
      'a message behind a call stays behind it',
      [...call('c'), ...message('m', 'a')],
      [...EMPTY_LEAD, ...CALL, 'message-started m', 'text-delta m a', 'message-ended m'],
    ],
    [
      'reasoning is left out',
      [...reasoning('r'), ...message('m', 'a')],
      ['message-started m', 'text-delta m a', 'message-ended m'],
    ],
    ['reasoning and a call: an empty message', [...reasoning('r'), ...call('c')], [...EMPTY_LEAD, ...CALL]],
    [
      'a second message stands for itself',
      [...message('m', 'a'), ...message('n', 'b')],
      [
        'message-started m',
        'text-delta m a',
        'message-ended m',
        'message-started n',
        'text-delta n b',
        'message-ended n',
      ],
    ],
    ['nothing at all: an empty message', [], EMPTY_LEAD],
  ])('%s', async (_, events, expected) => {
    expect(short(await arranged([...events, END], 'message-first'))).toEqual([...expected, 'turn-ended']);
  });

  it('keeps the grammar of events for any turn: what begins ends, once, and the end is last', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, async (events) => {
        const read = await arranged(events, 'message-first');
        const ids = (suffix: string): string[] =>
          read.flatMap((event) => (event.type.endsWith(suffix) && 'itemId' in event ? [event.itemId] : []));
        const started = ids('-started').filter((id, index, all) => all.indexOf(id) === index);
        expect(ids('-ended').toSorted()).toEqual(started.toSorted());
        expect(read.at(-1)).toEqual(events.at(-1));
      }),
    );
  });
});

describe('the layout of an answer', () => {
  const anybody = { asked: null, wantsReasoning: false, isCodex: false, standard: 'message-first' } as const;

  it.each([
    ['is that of the deployment', anybody, 'message-first'],
    ['is that of the deployment, whatever it is', { ...anybody, standard: 'natural' }, 'natural'],
    ['is natural for clients of codex', { ...anybody, isCodex: true }, 'natural'],
    ['is natural where reasoning is shown', { ...anybody, wantsReasoning: true }, 'natural'],
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
