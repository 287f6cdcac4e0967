import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { isJsonObject, textIn, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { askAll, askBy, inAllWays, WAYS } from '../support/four-ways.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import type { TestProxy } from '../support/proxy.ts';

/** Backends that deviate from the Responses API, with the real app-server. */

const tools: readonly JsonObject[] = [
  { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } },
];
const ASK = { model: 'gpt-5.5', input: 'hi', tools };
const CALL: JsonObject = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' };
const MESSAGE: JsonObject = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hello.' }],
};
const without = (item: JsonObject, field: string): JsonObject =>
  Object.fromEntries(Object.entries(item).filter(([key]) => key !== field));

/** The items of a backend that does not stream, and a last event. */
const sends =
  (items: readonly JsonObject[], response: JsonObject | null = { id: 'resp_1' }): Script =>
  (_request, connection) => {
    connection.event({ type: 'response.created', response: { id: 'resp_1' } });
    for (const [output_index, item] of items.entries()) {
      connection.event({ type: 'response.output_item.added', output_index, item });
      connection.event({ type: 'response.output_item.done', output_index, item });
    }
    if (response !== null)
      connection.event({ type: 'response.completed', response: { output: items, ...response } });
  };

/** The lines of a counter that are not zero. */
const counted = async (proxy: TestProxy, name: string): Promise<Record<string, number>> => {
  const page = await (await proxy.get('/metrics')).text();
  const lines = page.split('\n').filter((line) => line.startsWith(`${name}{`));
  return Object.fromEntries(
    lines.map((line) => [/="([^"]*)"/.exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]),
  );
};

const failureOf = async (proxy: TestProxy, script: Script): Promise<unknown> => {
  proxy.use(script);
  const answer = await proxy.post('/v1/responses', ASK);
  const { error } = (await answer.json()) as JsonObject;
  return [answer.status, isJsonObject(error) ? error['message'] : null];
};

const CHAT_USAGE = {
  prompt_tokens: 3,
  completion_tokens: 4,
  total_tokens: 7,
  prompt_tokens_details: { cached_tokens: 2 },
};

/** Without those of codex at its start, which are about this machine. */
const warningsIn = (proxy: TestProxy) =>
  proxy.log.filter(({ level, msg }) => level === 'warn' && msg !== 'codex has a warning');

describe('with the relay', async () => {
  const proxy = await openProxy(hello);
  const host = new URL(proxy.model.baseUrl).host;

  it.each<[what: string, item: JsonObject, written: string]>([
    ['an object', { ...CALL, arguments: { a: 1 } }, '{"a":1}'],
    ['a number', { ...CALL, arguments: 5 }, '5'],
    ['a boolean', { ...CALL, arguments: false }, 'false'],
    ['null', { ...CALL, arguments: null }, 'null'],
    ['nothing', without(CALL, 'arguments'), '{}'],
    ['text that is JSON of a text', { ...CALL, arguments: '"{\\"a\\":1}"' }, '"{\\"a\\":1}"'],
  ])('arguments may be %s', async (_, item, written) => {
    proxy.use(sends([item]));
    expect(await askAll(proxy, { tools })).toEqual(inAllWays({ calls: [['function', 'f', written]] }));
  });

  it('a call without an id has the same one in every event', async () => {
    proxy.use(sends([without(CALL, 'call_id'), without({ ...CALL, id: 'fc_2' }, 'call_id')]));
    const stream = await proxy.post('/v1/responses', { ...ASK, stream: true });
    const events = eventsOf(await collectSse(stream)) as readonly JsonObject[];
    const last = events.at(-1)?.['response'] as JsonObject;
    const items = [...events.map(({ item }) => item), ...(last['output'] as readonly Json[])];
    const ids = items
      .filter(isJsonObject)
      .filter((item) => item['type'] === 'function_call')
      .map((item) => `${textIn(item, 'id')} ${textIn(item, 'call_id')}`);
    const [first = '', second = ''] = new Set(ids);
    expect([first, second]).toEqual([
      expect.stringMatching(/^fc_1 call_\w{32}$/),
      expect.stringMatching(/^fc_2 call_\w{32}$/),
    ]);
    // Added, done and the final object.
    expect(ids.toSorted()).toEqual([first, first, first, second, second, second].toSorted());
    expect(first.slice(5)).not.toBe(second.slice(5));
  });

  it('a call without an id can be answered, in a chat too', async () => {
    proxy.use(sends([without(CALL, 'call_id')]));
    const chat = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
    const chatTools = [{ type: 'function', function: { name: 'f' } }];
    const answer = await proxy.post('/v1/chat/completions', { ...chat, tools: chatTools });
    const { choices } = (await answer.json()) as { choices: { message: { tool_calls: JsonObject[] } }[] };
    const message = choices[0]?.message;
    const id = message?.tool_calls[0]?.['id'];
    expect(id).toMatch(/^call_\w{32}$/);
    const stream = await proxy.post('/v1/chat/completions', { ...chat, tools: chatTools, stream: true });
    expect(JSON.stringify(eventsOf(await collectSse(stream)))).toMatch(/"id":"call_\w{32}"/);
    proxy.use(hello);
    const messages = [...chat.messages, message, { role: 'tool', tool_call_id: id, content: 'done' }];
    expect((await proxy.post('/v1/chat/completions', { ...chat, messages })).status).toBe(200);
    expect(proxy.model.requests.at(-1)?.body['input']).toMatchObject([
      { role: 'user' },
      { type: 'function_call', call_id: id },
      { type: 'function_call_output', call_id: id, output: 'done' },
    ]);
  });

  it.each([
    ['a text', MESSAGE],
    ['a call', CALL],
  ])("usage in the Chat API's format is read after %s", async (_, item) => {
    proxy.use(sends([item], { id: 'resp_1', usage: CHAT_USAGE }));
    const responses = await proxy.post('/v1/responses', ASK);
    expect([responses.status, await responses.json()]).toMatchObject([
      200,
      {
        usage: {
          input_tokens: 3,
          input_tokens_details: { cached_tokens: 2 },
          output_tokens: 4,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 7,
        },
      },
    ]);
    const chat = await proxy.post('/v1/chat/completions', {
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
      tools: [{ type: 'function', function: { name: 'f' } }],
    });
    expect(await chat.json()).toMatchObject({ usage: CHAT_USAGE });
  });

  it.each<[what: string, script: Script, message: string]>([
    [
      'a call without a name',
      sends([without(CALL, 'name')]),
      'The upstream sent a tool call without a name, and nothing else.',
    ],
    [
      'an item without a type',
      sends([without(CALL, 'type')]),
      'The upstream sent an output item without a type, and nothing else.',
    ],
    [
      'no response.completed',
      sends([MESSAGE], null),
      `The upstream at ${host} ended its answer without response.completed.`,
    ],
    [
      'no id in response.completed',
      sends([MESSAGE], {}),
      `The upstream at ${host} sent a response.completed event without an id.`,
    ],
  ])('the error names what is wrong: %s', async (_, script, message) => {
    expect(await failureOf(proxy, script)).toEqual([502, message]);
  });

  it('a call without a name next to a text is dropped', async () => {
    proxy.use(sends([MESSAGE, without(CALL, 'name')]));
    expect(await askAll(proxy, { tools })).toEqual(inAllWays({ text: 'Hello.' }));
  });

  it('losses and repairs are counted and logged', async () => {
    proxy.use((request, connection) => {
      connection.write('event: response.output_text.delta\ndata: no JSON\n\n');
      return sends([MESSAGE])(request, connection);
    });
    expect(await askBy(proxy, WAYS[0], { tools })).toMatchObject({ status: 200, text: 'Hello.' });
    expect(await counted(proxy, 'proxy_response_item_parse_errors_total')).toEqual({
      arguments: expect.any(Number),
      no_call_id: expect.any(Number),
      no_name: 5,
      no_type: 1,
    });
    expect(await counted(proxy, 'proxy_parse_failures_total')).toMatchObject({
      upstream_answer: 2,
      upstream_event: 1,
      upstream_usage: 4,
    });
    const logged = warningsIn(proxy).map((line) => without(without(line as JsonObject, 'level'), 'time'));
    expect(logged).toEqual([
      { what: 'arguments', msg: 'the upstream deviates from the Responses API; its events are repaired' },
      { what: 'no_call_id', msg: 'the upstream deviates from the Responses API; its events are repaired' },
      { what: 'usage', msg: 'the upstream deviates from the Responses API; its events are repaired' },
      {
        model: 'gpt-5.5',
        response_item_parse_error: 'no_name',
        msg: 'an upstream output item was dropped',
      },
      {
        model: 'gpt-5.5',
        response_item_parse_error: 'no_type',
        msg: 'an upstream output item was dropped',
      },
      {
        cause: `The upstream at ${host} ended its answer without response.completed.`,
        msg: 'an upstream answer is incomplete',
      },
      {
        cause: `The upstream at ${host} sent a response.completed event without an id.`,
        msg: 'an upstream answer is incomplete',
      },
      ...WAYS.map(() => ({
        model: 'gpt-5.5',
        response_item_parse_error: 'no_name',
        msg: 'an upstream output item was dropped',
      })),
      { why: 'no-json', msg: 'an upstream event could not be read' },
    ]);
  });
});

describe('without the relay', async () => {
  const proxy = await openProxy(hello, { PROXY_WIRE: 'off' });

  it('a call with an empty id gets one', async () => {
    proxy.use(sends([{ ...CALL, call_id: '' }]));
    const answer = await proxy.post('/v1/responses', ASK);
    const { output } = (await answer.json()) as { output: readonly JsonObject[] };
    expect(output.at(-1)).toMatchObject({
      type: 'function_call',
      call_id: expect.stringMatching(/^call_\w{32}$/),
    });
  });

  it('a call that codex drops is counted and logged', async () => {
    const odd = [without(CALL, 'call_id'), { ...CALL, arguments: { a: 1 } }, { ...CALL, arguments: null }];
    for (const call of odd) {
      proxy.use(sends([MESSAGE, call]));
      const answer = await proxy.post('/v1/responses', ASK);
      expect([answer.status, await answer.json()]).toMatchObject([200, { output: [{ type: 'message' }] }]);
    }
    // codex writes to another pipe than the answer's.
    await expect
      .poll(() => counted(proxy, 'proxy_response_item_parse_errors_total'), { timeout: 30_000 })
      .toEqual({ unread: odd.length });
    expect(warningsIn(proxy)).toMatchObject([
      {
        response_item_parse_error: 'unread',
        msg: 'codex could not read an upstream output item and dropped it; PROXY_WIRE=on repairs calls',
      },
    ]);
  });

  it('usage that the app-server cannot read is absent, and the text is there', async () => {
    proxy.use(sends([MESSAGE], { id: 'resp_1', usage: CHAT_USAGE }));
    const answer = await proxy.post('/v1/responses', ASK);
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { output: [{ content: [{ text: 'Hello.' }] }], usage: null },
    ]);
    expect(await counted(proxy, 'proxy_parse_failures_total')).toEqual({ upstream_usage: 1 });
    expect(proxy.log.findLast(({ level }) => level === 'warn')).toMatchObject({
      model: 'gpt-5.5',
      msg: 'the app-server could not read the usage of an answer, so it is absent',
    });
  });

  it.each<[what: string, script: Script, message: string]>([
    [
      'no response.completed',
      sends([MESSAGE], null),
      'The upstream ended its answer without response.completed.',
    ],
    [
      'no id in response.completed',
      sends([MESSAGE], {}),
      'The upstream sent a response.completed event that could not be read.',
    ],
  ])('the error names what is wrong: %s', async (_, script, message) => {
    expect(await failureOf(proxy, script)).toEqual([502, message]);
    expect(proxy.log.findLast(({ level }) => level === 'warn')).toMatchObject({
      msg: 'an upstream answer is incomplete',
    });
  });
});
