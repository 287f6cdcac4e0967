import { ResponsesWS } from 'openai/resources/responses/ws';
import type { ResponsesServerEvent } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { idOf, isEnd, isType, openSocket, responseOf, type TestSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { failed, hangMidStream, hello, inTurn, says, toolCall } from '../support/scripts.ts';
import { objectsIn, sentBody } from './responses-sent.ts';

const proxy = await openProxy(hello);
const STEER = 'Keep it small.';

/** Says one thing, then, after a while, another. */
const twoThings: Script = says([{ text: 'First.' }, { wait: 300 }, { text: 'Second.' }]);
const TOOLS = [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }];

const texts = (event: JsonObject): unknown =>
  objectsIn(responseOf(event)['output']).map(
    (item) => objectsIn(item['content'])[0]?.['text'] ?? item['type'],
  );

const sent = (): unknown =>
  objectsIn(sentBody(proxy.model)['input']).map(({ role, type, content, call_id: id }) =>
    type === 'message' ? [role, objectsIn(content)[0]?.['text']] : [type, id],
  );

/** Begins a response and steers it after its first event. */
const steered = async (
  script: Script,
  body: object,
  input: unknown = STEER,
): Promise<{ socket: TestSocket; id: string; answer: JsonObject }> => {
  proxy.use(script);
  const socket = await openSocket(proxy);
  socket.send({ type: 'response.create', model: 'gpt-5.5', input: 'Plan.', ...body });
  const id = idOf(await socket.next(isType('response.created')));
  socket.send({ type: 'response.steer', previous_response_id: id, input });
  const answer = await socket.next((event) => textIn(event, 'type').startsWith('response.steer.'));
  return { socket, id, answer };
};

describe('response.steer', () => {
  it.each([true, false])('ends a response between two items, and continues it (store: %s)', async (store) => {
    const lane = { stream_id: 'main', store, instructions: 'Be brief.' };
    const { socket, id, answer } = await steered(inTurn(twoThings, hello), lane);
    expect(answer).toEqual({
      type: 'response.steer.accepted',
      sequence_number: expect.any(Number),
      steer: { id: expect.stringMatching(/^steer_\w{32}$/), previous_response_id: id },
      stream_id: 'main',
    });
    const first = await socket.next(isEnd);
    expect([first['type'], responseOf(first)['incomplete_details'], texts(first)]).toEqual([
      'response.incomplete',
      { reason: 'steered' },
      ['First.'],
    ]);
    expect(responseOf(first)['usage']).toMatchObject({ output_tokens: expect.any(Number) });
    const second = await socket.next(isEnd);
    expect(second).toMatchObject({
      type: 'response.completed',
      stream_id: 'main',
      response: { previous_response_id: id, instructions: 'Be brief.', store },
    });
    expect(sent()).toEqual([
      ['user', 'Plan.'],
      ['assistant', 'First.'],
      ['user', STEER],
    ]);
    // Each response has its own numbers, and the events of steering are among them.
    const begins = socket.events.findLastIndex(isType('response.created'));
    const numbers = socket.events.map(({ sequence_number: number }) => number);
    expect([numbers.slice(0, begins), numbers.slice(begins)]).toEqual([
      numbers.slice(0, begins).map((_, index) => index),
      numbers.slice(begins).map((_, index) => index),
    ]);
    socket.ws.close();
  });

  it('continues a response that has completed meanwhile, with all input in its order', async () => {
    const text = says([{ text: 'one two three', delayMs: 100 }]);
    const messages = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And this.' }] },
      { role: 'user', content: 'And that.' },
    ];
    const { socket, id } = await steered(inTurn(text, hello), {});
    socket.send({ type: 'response.steer', previous_response_id: id, input: messages });
    expect(await socket.next(isType('response.steer.accepted'))).toMatchObject({
      steer: { previous_response_id: id },
    });
    expect(await socket.next(isEnd)).toMatchObject({ type: 'response.completed', response: { id } });
    expect(await socket.next(isEnd)).toMatchObject({
      type: 'response.completed',
      response: { previous_response_id: id },
    });
    expect(sent()).toEqual([
      ['user', 'Plan.'],
      ['assistant', 'one two three'],
      ['user', STEER],
      ['user', 'And this.'],
      ['user', 'And that.'],
    ]);
    socket.ws.close();
  });

  it('waits for the outputs of calls, and goes in front of them, in its lane only', async () => {
    const slowCall: Script = says([
      { call: { name: 'get_weather', arguments: '{"city":"Paris"}', callId: 'call_weather' }, delayMs: 150 },
    ]);
    const { socket, id, answer } = await steered(slowCall, { tools: TOOLS, stream_id: 'main' });
    expect(await socket.next(isEnd)).toMatchObject({ type: 'response.completed' });
    expect(await socket.next(isType('response.steer.pending'))).toEqual({
      type: 'response.steer.pending',
      sequence_number: expect.any(Number),
      steer: answer['steer'],
      reason: 'waiting_for_required_input',
      required_input: [{ type: 'function_call_output', call_id: 'call_weather', name: 'get_weather' }],
      stream_id: 'main',
    });
    proxy.use(hello);
    const output = { type: 'function_call_output', call_id: 'call_weather', output: 'Rain.' };
    const next = { input: [output], tools: TOOLS, previous_response_id: id };
    await socket.create({ ...next, stream_id: 'fork' });
    const call = ['function_call', 'call_weather'];
    const rain = ['function_call_output', 'call_weather'];
    expect(sent()).toEqual([['user', 'Plan.'], call, rain]);
    await socket.create({ ...next, stream_id: 'main' });
    expect(sent()).toEqual([['user', 'Plan.'], call, ['user', STEER], rain]);
    // Once.
    await socket.create({ ...next, stream_id: 'main' });
    expect(sent()).toEqual([['user', 'Plan.'], call, rain]);
    socket.ws.close();
  });

  it.each([
    ['a text without words', ' '],
    ['no messages', []],
    ['a message of the assistant', [{ role: 'assistant', content: 'No.' }]],
    ['an output', [{ type: 'function_call_output', call_id: 'c', output: 'x' }]],
    ['a number', 7],
  ])('gives invalid input back: %s', async (_, input) => {
    const { socket, id, answer } = await steered(hangMidStream, {}, input);
    expect(answer).toEqual({
      type: 'response.steer.failed',
      sequence_number: expect.any(Number),
      error: { type: 'invalid_request_error', code: 'invalid_input', message: expect.any(String) },
      steer: { previous_response_id: id, input },
    });
    socket.send({ type: 'response.steer', previous_response_id: id, input: STEER, stream_id: 'main' });
    expect(await socket.next(isType('response.steer.failed'))).toMatchObject({
      error: { code: 'invalid_input' },
    });
    socket.ws.close();
  });

  it('gives input back that comes too late, or for nothing', async () => {
    proxy.use(hello);
    const socket = await openSocket(proxy);
    const id = idOf(await socket.create({ input: 'Hi' }));
    for (const [steeredId, code] of [
      [id, 'response_already_completed'],
      ['resp_unknown', 'response_not_found'],
    ]) {
      socket.send({ type: 'response.steer', previous_response_id: steeredId, input: STEER });
      expect(await socket.next(isType('response.steer.failed'))).toEqual({
        type: 'response.steer.failed',
        sequence_number: 0,
        error: { type: 'invalid_request_error', code, message: expect.any(String) },
        steer: { previous_response_id: steeredId, input: STEER },
      });
    }
    const other = await openSocket(proxy);
    other.send({ type: 'response.steer', previous_response_id: id, input: STEER });
    expect(await other.next(isType('response.steer.failed'))).toMatchObject({
      error: { code: 'response_not_found' },
    });
    socket.ws.close();
    other.ws.close();
  });

  it('gives input back if the response fails, or cannot be continued', async () => {
    const fails = says([
      { text: 'one two three', delayMs: 100 },
      { fail: { code: 'server_error', message: 'No.' } },
    ]);
    const { socket, id, answer } = await steered(fails, {});
    expect(await socket.next(isType('response.steer.failed'))).toMatchObject({
      error: { code: 'response_not_active' },
      steer: { id: (answer['steer'] as JsonObject)['id'], previous_response_id: id, input: STEER },
    });
    socket.ws.close();
    const slow = says([{ text: 'one two three', delayMs: 100 }]);
    const next = await steered(inTurn(slow, failed('invalid_prompt', 'No.')), {});
    expect(await next.socket.next(isEnd)).toMatchObject({ type: 'response.completed' });
    expect(await next.socket.next(isType('response.steer.failed'))).toMatchObject({
      error: { code: 'successor_creation_failed' },
      steer: { id: (next.answer['steer'] as JsonObject)['id'], previous_response_id: next.id, input: STEER },
    });
    // The client has sent no request that could fail.
    expect(next.socket.events.filter(isType('error'))).toEqual([]);
    next.socket.ws.close();
  });

  it('has a limit', async () => {
    const { socket, id } = await steered(hangMidStream, {});
    for (let count = 0; count < 16; count += 1) {
      socket.send({ type: 'response.steer', previous_response_id: id, input: STEER });
    }
    expect(await socket.next(isType('response.steer.failed'))).toMatchObject({
      error: { code: 'too_many_pending_steers' },
    });
    expect(socket.events.filter(isType('response.steer.accepted'))).toHaveLength(16);
    socket.ws.close();
  });

  it('is not supported for a conversation', async () => {
    const conversation = (await (await proxy.post('/v1/conversations', {})).json()) as JsonObject;
    const { socket, answer } = await steered(hangMidStream, { conversation: conversation['id'] });
    expect(answer).toMatchObject({
      type: 'response.steer.failed',
      error: { code: 'steering_not_supported' },
    });
    socket.ws.close();
  });
});

/** As in OpenAI's guide to steering. */
it("the openai package steers, and reads on until the successor's end", async () => {
  proxy.use(inTurn(twoThings, says([{ text: 'A small plan.' }])));
  const ws = new ResponsesWS(proxy.openai);
  const [ids, types]: [string[], string[]] = [[], []];
  const text = await new Promise<string>((resolve, reject) => {
    ws.on('error', reject);
    ws.on('event', (event: ResponsesServerEvent) => {
      types.push(event.type);
      if (event.type === 'response.created') {
        ids.push(event.response.id);
        if (ids.length === 1) {
          ws.send({ type: 'response.steer', previous_response_id: event.response.id, input: STEER });
        }
      } else if (event.type === 'response.completed' && event.response.id === ids[1]) {
        resolve(event.response.output_text ?? JSON.stringify(event.response.output));
      }
    });
    ws.send({ type: 'response.create', model: 'gpt-5.5', input: 'Draft a plan.' });
  });
  ws.close();
  expect(text).toContain('A small plan.');
  expect(types.filter((type) => type.startsWith('response.steer') || type === 'response.incomplete')).toEqual(
    ['response.steer.accepted', 'response.incomplete'],
  );
  proxy.use(toolCall());
});
