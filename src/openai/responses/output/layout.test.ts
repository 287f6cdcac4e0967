import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { checkGrammar } from '../../../../test/support/grammar.ts';
import { collect, emit, fixedAmbient, turnEvents } from '../../../../test/support/turn-events.ts';
import { callTold, END, messageTold } from '../../../../test/support/item-events.ts';
import { fold } from '../../../canonical/events/accumulate.ts';
import { itemIdOf, type TurnEvent } from '../../../canonical/events/turn-event.ts';
import { arrange, chooseLayout, type Layout } from './layout.ts';

const shown = { ids: fixedAmbient().ids, showCommentary: true };

const arranged = (events: readonly TurnEvent[], layout: Layout): Promise<TurnEvent[]> =>
  collect(arrange(emit(events), layout, { ...shown, ids: fixedAmbient().ids }));

/** A short form of the events: starts, deltas and ends, with ids. */
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

const EMPTY_LEAD = ['item-started msg_empty_minted1', 'item-ended msg_empty_minted1'];
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
      'a message after a call comes before it',
      [...call('c'), ...messageTold('m', 'a')],
      ['item-started m', 'item-delta m a', 'item-ended m', ...CALL],
    ],
    [
      'reasoning is left out',
      [...reasoning('r'), ...messageTold('m', 'a')],
      ['item-started m', 'item-delta m a', 'item-ended m'],
    ],
    ['reasoning and a call: an empty message', [...reasoning('r'), ...call('c')], [...EMPTY_LEAD, ...CALL]],
    [
      'all messages are one',
      [...messageTold('m', 'a'), ...call('c'), ...messageTold('n', 'b'), ...messageTold('o', '')],
      ['item-started m', 'item-delta m a', 'item-delta m \n\nb', 'item-delta m ', 'item-ended m', ...CALL],
    ],
    ['nothing at all: an empty message', [], EMPTY_LEAD],
  ])('%s', async (_, events, expected) => {
    expect(short(await arranged([...events, END], 'message-first'))).toEqual([...expected, 'turn-ended']);
  });

  it('sends the text while the model writes it', async () => {
    const seen: string[] = [];
    async function* source(): AsyncGenerator<TurnEvent> {
      for (const event of [...call('c'), ...messageTold('m', 'a'), END]) {
        yield event;
        seen.push(`after ${event.type}`);
      }
    }
    for await (const event of arrange(source(), 'message-first', shown)) seen.push(event.type);
    expect(seen.indexOf('item-delta')).toBeLessThan(seen.lastIndexOf('after item-delta'));
  });

  it('joins overlapping messages in the order they started', async () => {
    const [mStart, mText, mEnd] = messageTold('m', 'a');
    const [nStart, nText, nEnd] = messageTold('n', 'b');
    const events = [mStart, nStart, nText, mText, nEnd, mEnd].flatMap((event) =>
      event === undefined ? [] : [event],
    );
    const { items } = await fold(emit(await arranged([...events, END], 'message-first')));
    expect(items).toEqual([
      {
        kind: 'message',
        id: 'm',
        role: 'assistant',
        parts: [{ kind: 'text', text: 'a\n\nb' }],
        status: 'completed',
      },
    ]);
  });

  it('keeps positions of citations, log probabilities, refusals and the status of the last message', async () => {
    const cite = (start: number) => ({
      type: 'url_citation',
      url: 'u',
      start_index: start,
      end_index: start + 1,
    });
    const head = (id: string) => ({ kind: 'message', id, role: 'assistant', parts: [] }) as const;
    const events: TurnEvent[] = [
      { type: 'item-started', item: head('m') },
      { type: 'item-delta', itemId: 'm', at: 'text', delta: 'ab', annotation: cite(1) },
      { type: 'item-delta', itemId: 'm', at: 'refusal', delta: 'no' },
      {
        type: 'item-ended',
        item: {
          ...head('m'),
          parts: [
            { kind: 'text', text: 'ab', annotations: [cite(1)] },
            { kind: 'refusal', text: 'no' },
          ],
        },
      },
      { type: 'item-started', item: head('n') },
      { type: 'item-delta', itemId: 'n', at: 'text', delta: 'cd', logprobs: [1] },
      {
        type: 'item-ended',
        item: {
          ...head('n'),
          parts: [{ kind: 'text', text: 'cd', annotations: [cite(0)], logprobs: [1, 2] }],
          status: 'incomplete',
        },
      },
      END,
    ];
    const arrangedEvents = await arranged(events, 'message-first');
    expect(checkGrammar(arrangedEvents)).toEqual([]);
    expect((await fold(emit(arrangedEvents))).items).toEqual([
      {
        ...head('m'),
        parts: [
          { kind: 'text', text: 'ab\n\ncd', annotations: [cite(1), cite(4)], logprobs: [1, 2] },
          { kind: 'refusal', text: 'no' },
        ],
        status: 'incomplete',
      },
    ]);
  });

  it('drops commentary if the text must be one JSON value, and never marks an answer as commentary', async () => {
    const said = (id: string, phase: 'commentary' | 'final_answer', text: string): TurnEvent[] => {
      const head = { kind: 'message', id, role: 'assistant', parts: [], phase } as const;
      return [
        { type: 'item-started', item: head },
        { type: 'item-delta', itemId: id, at: 'text', delta: text },
        { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text }], status: 'completed' } },
      ];
    };
    const events = [...said('m', 'commentary', 'Looking.'), ...said('n', 'final_answer', '{}'), END];
    const answered = async (showCommentary: boolean) =>
      (await fold(arrange(emit(events), 'message-first', { ...shown, showCommentary }))).items;
    const message = { kind: 'message', role: 'assistant', status: 'completed' };
    expect(await answered(true)).toEqual([
      { ...message, id: 'm', parts: [{ kind: 'text', text: 'Looking.\n\n{}' }] },
    ]);
    expect(await answered(false)).toEqual([
      { ...message, id: 'n', parts: [{ kind: 'text', text: '{}' }], phase: 'final_answer' },
    ]);
  });
});

describe('the layout of an answer', () => {
  const DEFAULTS = {
    requested: null,
    mayCompact: false,
    isCodex: false,
    configured: 'message-first',
  } as const;

  it.each([
    ['is the configured one', DEFAULTS, 'message-first'],
    ['is the configured one, if it is natural', { ...DEFAULTS, configured: 'natural' }, 'natural'],
    ['is natural for codex clients', { ...DEFAULTS, isCodex: true }, 'natural'],
    ['is natural if the answer may have a compaction', { ...DEFAULTS, mayCompact: true }, 'natural'],
    [
      'is the requested one in any case',
      { ...DEFAULTS, requested: 'message-first', mayCompact: true, isCodex: true },
      'message-first',
    ],
    ['is the requested one', { ...DEFAULTS, requested: 'natural' }, 'natural'],
  ] as const)('%s', (_, options, layout) => {
    expect(chooseLayout(options)).toBe(layout);
  });
});
