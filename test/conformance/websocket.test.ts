import { describe, expect, it } from 'vitest';

import { textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { idOf, isEnd, isType, openSocket, responseOf } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { validateStreamEvent } from '../support/schema.ts';
import { hello, inTurn, longText, says, toolCall } from '../support/scripts.ts';
import { eventsOf, collectSse } from '../support/sse.ts';
import { objectsIn, sentBody } from './responses-sent.ts';

const OTHER_KEY = 'sk-other-key-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` });

/** What differs between two answers to the same request: ids and times. */
const timeless = (event: JsonObject): unknown =>
  JSON.parse(
    JSON.stringify(event, (key, value: unknown) =>
      ['id', 'item_id', 'created_at', 'created', 'completed_at'].includes(key) ? key : value,
    ),
  );

const input = (): unknown =>
  objectsIn(sentBody(proxy.model)['input']).map(({ role, type, content, output, call_id: id, name }) => {
    if (type === 'message') return [role, (content as readonly JsonObject[])[0]?.['text']];
    return [type, id, output ?? name];
  });

describe('response.create', () => {
  it('is answered with the events of a stream, one in each message', async () => {
    proxy.use(says([{ reasoning: { summary: ['**Thinking**'] } }, { text: 'Hello.' }]));
    const body = { model: 'gpt-5.5', input: 'Hi', metadata: { a: 'b' } };
    const socket = await openSocket(proxy);
    await socket.create(body);
    const sse = eventsOf(await collectSse(await proxy.post('/v1/responses', { ...body, stream: true })));
    expect(socket.events.map(timeless)).toEqual(sse.map((event) => timeless(event as JsonObject)));
    expect(socket.events.map(({ sequence_number: number }) => number)).toEqual(
      socket.events.map((_, index) => index),
    );
    socket.ws.close();
  });

  it('may have its type last, and `stream` in either way', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    for (const stream of [true, false, null]) {
      socket.send({ model: 'gpt-5.5', input: 'Hi', stream, background: false, type: 'response.create' });
      expect(await socket.next(isEnd)).toMatchObject({ type: 'response.completed' });
    }
    socket.ws.close();
  });

  it('works at the path of codex, and its headers count for each request', async () => {
    const socket = await openSocket(proxy, {
      path: '/backend-api/codex/responses?x=1',
      headers: { 'x-proxy-output-layout': 'message-first', 'thread-id': 'thread-7', 'x-request-id': 'mine' },
    });
    proxy.use(says([{ reasoning: { summary: ['**Thinking**'] } }, { text: 'Hello.' }]));
    const { output } = responseOf(await socket.create({ input: 'Hi' }));
    expect(output).toMatchObject([{ type: 'message' }]);
    socket.ws.close();
    const line = proxy.log.find(({ requestId }) => requestId === 'mine.1');
    expect(line).toMatchObject({
      method: 'WEBSOCKET',
      route: '/backend-api/codex/responses',
      status: 200,
      model: 'gpt-5.5',
      stream: true,
      named: { thread: 'thread-7' },
      outcome: 'completed',
    });
  });

  it('says in its first event what HTTP says in headers', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    await socket.create({ input: 'Hi', user: 'ann', made_up: 1 });
    expect(socket.events.filter((event) => 'headers' in event)).toMatchObject([
      { type: 'response.created', headers: { 'x-proxy-ignored-params': expect.stringContaining('made_up') } },
    ]);
    socket.ws.close();
  });

  it('fails with one last event', async () => {
    const socket = await openSocket(proxy);
    proxy.use(says([{ text: 'Half' }, { fail: { code: 'server_error', message: 'Broken.' } }]));
    expect(await socket.create({ input: 'Hi' })).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
    proxy.use(hello);
    expect(await socket.create({ input: 'Hi' })).toMatchObject({ type: 'response.completed' });
    const numbers = socket.events.map(({ sequence_number: number }) => number);
    const second = numbers.lastIndexOf(0);
    expect([numbers.slice(0, second), numbers.slice(second)]).toEqual([
      numbers.slice(0, second).map((_, index) => index),
      numbers.slice(second).map((_, index) => index),
    ]);
    expect(socket.events.filter(isType('error'))).toEqual([]);
    socket.ws.close();
  });

  it('passes thousands of deltas in their order', async () => {
    proxy.use(longText(5_000));
    const socket = await openSocket(proxy);
    const { output } = responseOf(await socket.create({ input: 'Write.' }));
    const deltas = socket.events.filter(isType('response.output_text.delta'));
    const text = deltas.map((event) => textIn(event, 'delta')).join('');
    expect(text.startsWith('word0 word1 ')).toBe(true);
    expect(output).toMatchObject([{ content: [{ text }] }]);
    socket.ws.close();
  });

  it('is valid by the document of OpenAI', async () => {
    proxy.use(toolCall());
    const socket = await openSocket(proxy);
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }];
    await socket.create({ input: 'Hi', tools });
    expect(socket.events.flatMap(validateStreamEvent)).toEqual([]);
    socket.ws.close();
  });
});

describe('previous_response_id', () => {
  it.each([true, false])('continues a response of the same connection (store: %s)', async (store) => {
    const socket = await openSocket(proxy);
    proxy.use(inTurn(toolCall(), hello));
    const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }];
    const first = idOf(await socket.create({ input: 'Weather?', store, tools }));
    const answer = [{ type: 'function_call_output', call_id: 'call_weather', output: 'Rain.' }];
    const second = idOf(
      await socket.create({ input: answer, store, tools, previous_response_id: first, stream_id: 'other' }),
    );
    proxy.use(hello);
    const last = await socket.create({ input: 'Thanks.', store, previous_response_id: second });
    expect(responseOf(last)).toMatchObject({ previous_response_id: second, store });
    expect(input()).toEqual([
      ['user', 'Weather?'],
      ['function_call', 'call_weather', 'get_weather'],
      ['function_call_output', 'call_weather', 'Rain.'],
      ['assistant', 'Hello from the scripted model.'],
      ['user', 'Thanks.'],
    ]);
    socket.ws.close();
    // Over HTTP, and on other connections, only what is stored.
    const found = await proxy.get(`/v1/responses/${second}`);
    expect(found.status).toBe(store ? 200 : 404);
    const other = await openSocket(proxy);
    const again = await other.create({ input: 'Again.', previous_response_id: second });
    expect(again).toMatchObject(
      store
        ? { type: 'response.completed' }
        : { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    );
    other.ws.close();
  });

  it('of an answer that is stored may be one that is not', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    const first = idOf(await socket.create({ input: 'One.', store: false }));
    const second = idOf(await socket.create({ input: 'Two.', previous_response_id: first }));
    socket.ws.close();
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Three.', previous_response_id: second });
    const said = ['assistant', 'Hello from the scripted model.'];
    expect(input()).toEqual([['user', 'One.'], said, ['user', 'Two.'], said, ['user', 'Three.']]);
  });

  it('of another key is unknown', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    const id = idOf(await socket.create({ input: 'Mine.' }));
    const stranger = await openSocket({ ...proxy, key: OTHER_KEY });
    expect(await stranger.create({ input: 'Yours?', previous_response_id: id })).toMatchObject({
      type: 'error',
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'previous_response_not_found',
        message: `Previous response with id '${id}' not found.`,
        param: 'previous_response_id',
      },
    });
    socket.ws.close();
    stranger.ws.close();
  });

  it('is forgotten if a request of its lane cannot continue it, and kept for other lanes', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    const bad = { input: [{ type: 'function_call_output', call_id: 'none', output: '' }], store: false };
    const id = idOf(await socket.create({ input: 'One.', store: false, stream_id: 'main' }));
    const fork = { ...bad, previous_response_id: id, stream_id: 'fork' };
    expect(await socket.create(fork)).toMatchObject({ type: 'error', status: 400, stream_id: 'fork' });
    const more = { input: 'Two.', store: false, previous_response_id: id, stream_id: 'main' };
    expect(await socket.create(more)).toMatchObject({ type: 'response.completed', stream_id: 'main' });
    expect(await socket.create({ ...fork, stream_id: 'main' })).toMatchObject({ type: 'error' });
    expect(await socket.create(more)).toMatchObject({ error: { code: 'previous_response_not_found' } });
    socket.ws.close();
  });
});

describe('generate: false', () => {
  it.each([true, false])('keeps the input, and asks no model (store: %s)', async (store) => {
    proxy.use(hello);
    const before = proxy.model.requests.length;
    const socket = await openSocket(proxy);
    const warm = await socket.create({ input: 'Be brief.', store, generate: false });
    expect(socket.events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
    ]);
    expect(responseOf(warm)).toMatchObject({
      status: 'completed',
      output: [],
      store,
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    });
    expect(proxy.model.requests.length).toBe(before);
    await socket.create({ input: 'Hi', store, previous_response_id: idOf(warm) });
    expect(input()).toEqual([
      ['user', 'Be brief.'],
      ['user', 'Hi'],
    ]);
    socket.ws.close();
  });

  it.each([true, false])(
    'may have no input, as codex sends it for its newest models (store: %s)',
    async (store) => {
      proxy.use(hello);
      const socket = await openSocket(proxy);
      const warm = await socket.create({ input: [], store, generate: false });
      expect(responseOf(warm)).toMatchObject({ status: 'completed', output: [] });
      await socket.create({ input: 'Hi', store, previous_response_id: idOf(warm) });
      expect(input()).toEqual([['user', 'Hi']]);
      expect(await socket.create({ input: [], store })).toMatchObject({ error: { code: 'empty_array' } });
      socket.ws.close();
    },
  );
});
