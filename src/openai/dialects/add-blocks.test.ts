import { describe, expect, it } from 'vitest';

import { fold, type Reply } from '../../canonical/events/accumulate.ts';
import { isMessage, isToolCall, wordsOf, type Produced } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { turnsWhileReading } from '../../../test/support/turns-of-loop.ts';
import { arrange } from '../responses/output/layout.ts';
import { addBlocks, callsFromBlocks } from './add-blocks.ts';
import { MAX_ARGUMENTS_CHARS } from './use-tool-block.ts';

const message = (id: string, text: string): readonly TurnEvent[] => {
  const head = { kind: 'message', id, role: 'assistant', parts: [] } as const;
  return [
    { type: 'item-started', item: head },
    ...(text === '' ? [] : [{ type: 'item-delta', itemId: id, at: 'text', delta: text } as const]),
    { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text }], status: 'completed' } },
  ];
};

const call = (id: string, input: string, cutAt = 1): readonly TurnEvent[] => {
  const head = {
    kind: 'tool-call',
    id,
    callId: `call_${id}`,
    tool: 'function',
    name: 'f',
    input: '',
  } as const;
  return [
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: id, at: 'input', delta: input.slice(0, cutAt) },
    { type: 'item-delta', itemId: id, at: 'input', delta: input.slice(cutAt) },
    { type: 'item-ended', item: { ...head, input, status: 'completed' } },
  ];
};

const reasoning: readonly TurnEvent[] = [
  { type: 'item-started', item: { kind: 'reasoning', id: 'rs', summary: [] } },
  { type: 'item-ended', item: { kind: 'reasoning', id: 'rs', summary: [] } },
];
const end: TurnEvent = { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: null, at: 1 };

const tell = async (
  events: readonly TurnEvent[],
  layout: 'message-first' | 'natural' = 'natural',
): Promise<{ events: TurnEvent[]; reply: Reply; native: string[] }> => {
  const { ids } = fixedAmbient();
  const native: string[] = [];
  const emitted = await collect(
    arrange(addBlocks(emit(events), { ids, onNativeOnly: (why) => native.push(why) }), layout, {
      ids,
      showCommentary: true,
    }),
  );
  return { events: emitted, reply: await fold(emit(emitted)), native };
};

const shown = (items: readonly Produced[]): readonly string[] =>
  items.map((item) => {
    if (isMessage(item)) return wordsOf(item, 'text');
    return isToolCall(item) ? `${item.name} ${item.input}` : item.kind;
  });

const A = '<use_tool>\n<name>f</name>\n<q>a</q>\n</use_tool>';
const B = '<use_tool>\n<name>f</name>\n<q>b</q>\n</use_tool>';
const a = '{"q":"a"}';
const b = '{"q":"b"}';

describe('calls in both forms', () => {
  it('are blocks at the end of the message before them, which ends before they start', async () => {
    const { events, reply } = await tell([...message('m', 'Look.'), ...call('1', a), ...call('2', b), end]);
    expect(shown(reply.items)).toEqual([`Look.\n${A}\n${B}`, `f ${a}`, `f ${b}`]);
    expect(events.map(({ type }) => type)).toEqual([
      'item-started',
      'item-delta',
      'item-delta',
      'item-delta',
      'item-ended',
      'item-started',
      'item-delta',
      'item-ended',
      'item-started',
      'item-delta',
      'item-ended',
      'turn-ended',
    ]);
  });

  it('get a new message if the model wrote none', async () => {
    const { reply } = await tell([...reasoning, ...call('1', a), end]);
    expect(shown(reply.items)).toEqual(['reasoning', A, `f ${a}`]);
    const messageFirst = await tell([...reasoning, ...call('1', a), end], 'message-first');
    expect(shown(messageFirst.reply.items)).toEqual([A, `f ${a}`]);
  });

  it('keep their order if the model continues to write', async () => {
    const turn = [...message('m', 'One.\n'), ...call('1', a), ...message('n', 'Two.'), ...call('2', b), end];
    expect(shown((await tell(turn)).reply.items)).toEqual([`One.\n${A}`, `f ${a}`, `Two.\n${B}`, `f ${b}`]);
    const messageFirst = await tell(turn, 'message-first');
    expect(shown(messageFirst.reply.items)).toEqual([`One.\n${A}\n\nTwo.\n${B}`, `f ${a}`, `f ${b}`]);
  });

  it('wait for a message that is still open', async () => {
    const [started, ...rest] = message('m', 'Late.');
    if (started === undefined) throw new Error('a message begins');
    const { reply } = await tell([started, ...call('1', a), ...rest, end]);
    expect(shown(reply.items)).toEqual([`Late.\n${A}`, `f ${a}`]);
  });

  it('are only native if no block can represent them, and are counted', async () => {
    const { reply, native } = await tell([
      ...message('m', 'x'),
      ...call('1', '{"q":"</q>"}'),
      ...call('2', b),
      end,
    ]);
    expect(shown(reply.items)).toEqual([`x\n${B}`, 'f {"q":"</q>"}', `f ${b}`]);
    expect(native).toEqual(['value']);
  });

  it('are not held if they are long', async () => {
    const long = JSON.stringify({ q: 'x'.repeat(MAX_ARGUMENTS_CHARS) });
    const { reply, native, events } = await tell([
      ...message('m', 'x'),
      ...call('1', long, MAX_ARGUMENTS_CHARS + 1),
      end,
    ]);
    expect(shown(reply.items)).toEqual(['x', `f ${long}`]);
    expect(native).toEqual(['too_long']);
    const deltas = events.flatMap((event) =>
      event.type === 'item-delta' && event.at === 'input' ? [event.delta.length] : [],
    );
    expect(deltas).toEqual([MAX_ARGUMENTS_CHARS + 1, long.length - MAX_ARGUMENTS_CHARS - 1]);
  });

  it('have no block if they are truncated', async () => {
    const [started, delta] = call('1', a);
    if (started?.type !== 'item-started' || delta === undefined) throw new Error('a call begins');
    const cut: TurnEvent = {
      type: 'item-ended',
      item: { ...started.item, input: '{', status: 'incomplete' } as Produced,
    };
    const { reply } = await tell([
      ...message('m', 'x'),
      started,
      delta,
      cut,
      { ...end, outcome: { kind: 'incomplete', reason: 'max_output_tokens' } },
    ]);
    expect(shown(reply.items)).toEqual(['x', 'f {']);
  });
});

describe('hundreds of calls', () => {
  const { ids } = fixedAmbient();

  it('do not block the event loop when blocks are added', async () => {
    const calls = Array.from({ length: 500 }, (_, index) =>
      call(`fc_${index}`, '{}')
        .slice(0, 1)
        .concat(call(`fc_${index}`, '{}').slice(3)),
    );
    const events = addBlocks(emit([...calls.flat(), end]), { ids, onNativeOnly: () => {} });
    expect(await turnsWhileReading(events)).toBeGreaterThan(10);
  });

  it('do not block the event loop when they are read from a text', async () => {
    const text = '<use_tool><name>f</name></use_tool>'.repeat(500);
    const events = callsFromBlocks(emit([...message('msg', text), end]), ids);
    expect(await turnsWhileReading(events)).toBeGreaterThan(10);
  });
});
