import type { ResponseCreateParamsStreaming } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openChecked } from '../conformance/responses-checked.ts';
import { says } from '../support/scripts.ts';
import { askBoth, named, type Both, type Event } from './ask-both.ts';

const { proxy, client } = await openChecked(says([]));

const ASK = { model: 'gpt-5.5', input: 'hi' } as const;
const both = (script: Script, more: Record<string, unknown> = {}): Promise<Both> =>
  askBoth(proxy, client, script, { ...ASK, ...more });

describe('the arguments of a call', () => {
  const tools = [
    { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
  ];
  const ARGUMENTS = ['{"a":', '"one ', 'two"', '}'];
  const call = (callId: string, end?: 'open') => ({
    call: { name: 'f', arguments: ARGUMENTS.join(''), callId, id: `fc_${callId}` },
    deltas: ARGUMENTS,
    ...(end === undefined ? {} : { end }),
  });

  /** The events until all arguments have arrived: the model has not finished its call. */
  const seenWhileWriting = async (
    script: Script,
    more: Record<string, unknown> = {},
  ): Promise<readonly Event[]> => {
    proxy.use(script);
    const events: Event[] = [];
    const stream = await client.openai.responses.create({
      ...ASK,
      tools,
      ...more,
      stream: true,
    } as ResponseCreateParamsStreaming);
    let written = '';
    for await (const event of stream) {
      events.push(event as unknown as Event);
      if (event.type === 'response.function_call_arguments.delta') written += event.delta;
      // Leaving the loop aborts the request.
      if (written === ARGUMENTS.join('')) break;
    }
    return events;
  };
  const deltas = (events: readonly Event[]): readonly unknown[] =>
    named(events, 'response.function_call_arguments.delta').map((event) => event['delta']);

  it('arrive as they are written', async () => {
    const events = await seenWhileWriting(says([call('c1', 'open'), { hang: true }]));
    expect(deltas(events)).toEqual(ARGUMENTS);
    expect(named(events, 'response.output_item.added')).toMatchObject([
      { item: { type: 'function_call', call_id: 'c1', arguments: '' } },
    ]);
    expect(named(events, 'response.function_call_arguments.done')).toEqual([]);
  });

  it('arrive as they are written after reasoning and a message', async () => {
    const events = await seenWhileWriting(
      says([
        { reasoning: { summary: ['Hm.'] } },
        { text: 'Let me see.' },
        { wait: 100 },
        { ...call('c1', 'open'), delayMs: 20 },
        { hang: true },
      ]),
      { reasoning: { summary: 'auto' } },
    );
    expect(deltas(events).join('')).toBe(ARGUMENTS.join(''));
    expect(deltas(events).length).toBeGreaterThan(1);
    expect(
      named(events, 'response.output_item.added').map((event) => (event['item'] as JsonObject)['type']),
    ).toEqual(['reasoning', 'message', 'function_call']);
  });

  it('keep their order when written without a pause after a long message', async () => {
    const text = Array.from({ length: 2_000 }, (_, index) => `word${index} `).join('');
    const { events, last, json } = await both(says([{ text }, call('c1'), call('c2')]), { tools });
    const items = named(events, 'response.output_item.added', 'response.output_item.done').map((event) => [
      event.type.slice(21),
      (event['item'] as JsonObject)['call_id'] ?? 'message',
    ]);
    expect(items).toEqual(
      ['message', 'c1', 'c2'].flatMap((item) => [
        ['added', item],
        ['done', item],
      ]),
    );
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([
        { type: 'message', content: [{ text }] },
        { call_id: 'c1', arguments: ARGUMENTS.join('') },
        { call_id: 'c2', arguments: ARGUMENTS.join('') },
      ]);
    }
  });

  it('of parallel calls belong to one each', async () => {
    const { last } = await both(
      says([
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c1' }, deltas: ['{"n"', ':1}'], delayMs: 15 },
        { call: { name: 'f', arguments: '{"n":2}', callId: 'c2' }, deltas: ['{"n"', ':2}'], delayMs: 15 },
        { call: { name: 'f', arguments: '', callId: 'c3' }, deltas: [] },
      ]),
      { tools },
    );
    expect(last['output']).toMatchObject([
      { call_id: 'c1', arguments: '{"n":1}' },
      { call_id: 'c2', arguments: '{"n":2}' },
      { call_id: 'c3', arguments: '{}' },
    ]);
  });

  it('of a second call are hidden if only one is allowed', async () => {
    const { last, json } = await both(says([{ ...call('c1'), delayMs: 10 }, call('c2')]), {
      tools,
      parallel_tool_calls: false,
    });
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([{ call_id: 'c1' }]);
      expect(response['output']).toHaveLength(1);
    }
  });

  it('of an undeclared call are hidden', async () => {
    const script = says([
      { call: { name: 'g', arguments: '{"x":1}', callId: 'c0', id: 'fc_same' }, delayMs: 10 },
      { call: { name: 'f', arguments: '{"y":2}', callId: 'c1', id: 'fc_same' }, delayMs: 10 },
    ]);
    const { events, last } = await both(script, { tools });
    expect(deltas(events).join('')).toBe('{"y":2}');
    expect(last['output']).toMatchObject([{ call_id: 'c1', arguments: '{"y":2}' }]);
  });

  it.each(['fc_0', 'not an id', '', 'é'])(
    'are right with unusual ids, even a repeated one: %j',
    async (id) => {
      const script = says([
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c1', id }, chunkSize: 2 },
        { call: { name: 'f', arguments: '{"n":2}', callId: 'c2', id }, chunkSize: 2 },
      ]);
      const { last, json } = await both(script, { tools });
      for (const response of [last, json]) {
        expect(response['output']).toMatchObject([
          { call_id: 'c1', arguments: '{"n":1}' },
          { call_id: 'c2', arguments: '{"n":2}' },
        ]);
        const ids = (response['output'] as readonly { id: string }[]).map((item) => item.id);
        expect(new Set(ids).size).toBe(2);
      }
    },
  );

  it('of the next answer in the same turn arrive too', async () => {
    let nth = 0;
    const script: Script = (_request, connection) => {
      nth += 1;
      return nth % 2 === 1
        ? answer(connection, [{ call: { name: 'undeclared', arguments: '{}' } }])
        : answer(connection, [{ ...call('c1'), delayMs: 15 }]);
    };
    const { events, last } = await both(script, { tools });
    expect(deltas(events)).toEqual(ARGUMENTS);
    expect(last['output']).toMatchObject([{ call_id: 'c1' }]);
  });
});
