import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Accumulator } from '../../canonical/events/accumulate.ts';
import type { Produced } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { checkGrammar } from '../../../test/support/grammar.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { callsOf, proseTools } from './prose-request.ts';
import { CallTaking } from './take-calls.ts';
import { writeCall } from './written-call.ts';

const TOOLS = proseTools([functionTool('f'), functionTool('g')], { mode: 'auto' });
const head = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] } as const;
const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 };

const said = (deltas: readonly string[]): readonly TurnEvent[] => [
  { type: 'item-started', item: head },
  ...deltas.map((delta): TurnEvent => ({ type: 'item-delta', itemId: 'msg_1', at: 'text', delta })),
  {
    type: 'item-ended',
    item: { ...head, parts: [{ kind: 'text', text: deltas.join('') }], status: 'completed' },
  },
  end,
];

const takenOf = async (events: readonly TurnEvent[], isParallel = true) => {
  const dropped: string[] = [];
  const taking = new CallTaking({
    callOf: callsOf(TOOLS),
    isParallel,
    ids: fixedAmbient().ids,
    signal: new AbortController().signal,
    onDropped: () => dropped.push('dropped'),
    onHalf: () => dropped.push('half'),
  });
  const told = await collect(taking.take(emit(events)));
  expect(checkGrammar(told)).toEqual([]);
  const all = new Accumulator();
  for (const event of told) all.add(event);
  return { told, taking, dropped, reply: all.reply() };
};

/** What an item says, in short. */
const inShort = (item: Produced): string => {
  if (item.kind === 'tool-call') return `${item.name}(${item.input})`;
  return item.kind === 'message' ? item.parts.map((part) => ('text' in part ? part.text : '')).join('') : '';
};
const F = writeCall({ name: 'f', input: '{"a": 1}' });
const G = writeCall({ name: 'g', input: '' });

describe('calls in a text', () => {
  it('become items in order, with the texts between them', async () => {
    const { told, reply } = await takenOf(said([`a ${F.slice(0, 5)}`, `${F.slice(5)}\n${G} b`]));
    expect(reply).toEqual({
      items: [
        { ...head, parts: [{ kind: 'text', text: 'a ' }], status: 'completed' },
        {
          kind: 'tool-call',
          id: 'fc_minted2',
          tool: 'function',
          callId: 'call_minted1',
          name: 'f',
          input: '{"a": 1}',
          status: 'completed',
        },
        {
          kind: 'tool-call',
          id: 'fc_minted4',
          tool: 'function',
          callId: 'call_minted3',
          name: 'g',
          input: '',
          status: 'completed',
        },
        { ...head, id: 'msg_minted5', parts: [{ kind: 'text', text: ' b' }], status: 'completed' },
      ],
      outcome: { kind: 'tool-calls' },
      usage: null,
      endedAt: 1,
    });
    expect(told.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []))).toEqual([
      'a ',
      '{"a": 1}',
      ' b',
    ]);
  });

  it('leave no message if there is no other text', async () => {
    expect((await takenOf(said([`\n${F} `]))).reply.items.map(inShort)).toEqual(['f({"a": 1})']);
  });

  it('that do not occur change nothing', async () => {
    for (const deltas of [['a', ' <b> ', ' '], [], ['  ']]) {
      const events = said(deltas);
      const { told } = await takenOf(events);
      expect(told.at(-2)).toEqual(events.at(-2));
      expect(told.at(-1)).toEqual(end);
    }
  });

  it('are limited to one if parallel calls are off, and are kept apart if their tools are unknown', async () => {
    const one = await takenOf(said([F, G]), false);
    expect([one.reply.items.map(inShort), one.dropped]).toEqual([['f({"a": 1})'], ['dropped']]);
    const unknown = await takenOf(said(['a', writeCall({ name: 'x', input: '1' }), F]));
    expect(unknown.reply.items.map(inShort)).toEqual(['a', 'f({"a": 1})']);
    expect(unknown.taking.unknown).toEqual([
      { kind: 'tool-call', tool: 'function', callId: 'call_minted1', name: 'x', input: '1' },
    ]);
  });

  it('take their log probabilities with them, and move citations', async () => {
    const token = (text: string) => ({ token: text, logprob: -1, bytes: [], top_logprobs: [] });
    const cite = (start: number) => ({ type: 'url_citation', start_index: start, end_index: start + 1 });
    const events = said([]).toSpliced(
      1,
      0,
      { type: 'item-delta', itemId: 'msg_1', at: 'text', delta: `a${F}`, logprobs: [token('a'), token(F)] },
      { type: 'item-delta', itemId: 'msg_1', at: 'text', delta: 'bc', logprobs: [token('bc')] },
      { type: 'item-delta', itemId: 'msg_1', at: 'text', delta: '', annotation: cite(F.length + 2) },
    );
    const { reply } = await takenOf(events);
    const [first, , last] = reply.items;
    expect([first, last]).toMatchObject([
      { parts: [{ text: 'a', logprobs: [token('a')] }] },
      { parts: [{ text: 'bc', logprobs: [token('bc')], annotations: [cite(1)] }] },
    ]);
  });

  it.each([
    ['text', 'a ', ['a ']],
    ['a call', F, ['f({"a": 1})', '']],
    ['nothing', '', ['']],
  ])('are not shown in part when the turn is cut off: after %s', async (_, front, shown) => {
    const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
    for (let length = 1; length < G.length; length += 1) {
      const deltas = (front + G.slice(0, length)).split('');
      const events = said(deltas);
      const ended = events.at(-2);
      if (ended?.type !== 'item-ended' || ended.item.kind !== 'message') throw new Error('no message');
      const cut: TurnEvent = { ...ended, item: { ...ended.item, status: 'incomplete' } };
      // The backend ends the item, as completed or not, or only the turn.
      for (const ends of [[cut], [ended], []]) {
        const { reply, dropped } = await takenOf([...events.slice(0, -2), ...ends, { ...end, outcome }]);
        expect([reply.items.map(inShort), dropped]).toEqual([shown, ['half']]);
        expect(reply.items.at(-1)).toMatchObject({ status: 'incomplete' });
        expect(reply.outcome).toEqual(outcome);
      }
    }
  });

  it('are text if the model ends its answer in them, unless only the closing tag is missing', async () => {
    const half = G.slice(0, 20);
    const one = await takenOf(said(['a ', half]));
    expect(one.reply).toEqual({
      items: [{ ...head, parts: [{ kind: 'text', text: `a ${half}` }], status: 'completed' }],
      outcome: { kind: 'completed' },
      usage: null,
      endedAt: 1,
    });
    const after = await takenOf(said([F, half]));
    expect(after.reply.items.map(inShort)).toEqual(['f({"a": 1})', half]);
    const unclosed = await takenOf(said(['a ', G.slice(0, -3)]));
    expect(unclosed.reply.items.map(inShort)).toEqual(['a ', 'g()']);
    expect([one.dropped, after.dropped, unclosed.dropped]).toEqual([[], [], []]);
  });

  it('are no longer searched for when the turn is aborted', async () => {
    const left = new AbortController();
    const taking = new CallTaking({
      callOf: callsOf(TOOLS),
      isParallel: true,
      ids: fixedAmbient().ids,
      signal: left.signal,
      onDropped: () => {},
      onHalf: () => {},
    });
    const told: TurnEvent[] = [];
    const reading = (async () => {
      for await (const event of taking.take(emit(said(['a', '<tool_call>[['.repeat(1_000_000)])))) {
        told.push(event);
        setImmediate(() => left.abort(new Error('gone')));
      }
    })();
    await expect(reading).rejects.toThrow('gone');
    expect(told).toHaveLength(2);
  });

  it('are the same however the text is split', async () => {
    const bit = fc.constantFrom(
      F,
      G,
      '<tool_call>',
      ' ',
      'a',
      '{',
      '\n```',
      writeCall({ name: 'x', input: '' }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(bit, { maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (bits, size) => {
          const text = bits.join('');
          const deltas = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
          expect((await takenOf(said(deltas))).reply).toEqual((await takenOf(said([text]))).reply);
        },
      ),
      { numRuns: 60 },
    );
  });
});
