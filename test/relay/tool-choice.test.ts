import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { modelErrorBody } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { askAll, askBy, inAllWays, WAYS } from '../support/four-ways.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says, slow, toolCall } from '../support/scripts.ts';

const onWire = await openProxy(hello);
const fresh = freshProxies();
const offWire = await openProxy(hello, { PROXY_WIRE: 'off', PROXY_STRICT_PARAMS: 'true' });

const tool = (name: string): JsonObject => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
});
const tools = [tool('f'), tool('g'), tool('h')];
const NAMED = { type: 'function', name: 'f' };
const ALLOWED = { type: 'allowed_tools', mode: 'required', tools: [NAMED, { type: 'function', name: 'g' }] };
const F: readonly [string, string, string] = ['function', 'f', '{"n":1}'];
const callsF = toolCall('f', { n: 1 });

/** Each request gets text first, and the requested call the second time. */
const onSecondThought = (script: Script): Script =>
  inTurn(hello, script, hello, script, hello, script, hello, script);
const lastMessage = ({ body }: { readonly body: JsonObject }): unknown =>
  (body['input'] as readonly JsonObject[]).at(-1);
const line = (text: string) => ({
  type: 'message',
  role: 'developer',
  content: [{ type: 'input_text', text: expect.stringContaining(text) as string }],
});

describe.each([
  ['with the relay', onWire],
  ['without the relay', offWire],
])('a required call, %s', (_, proxy) => {
  it.each([
    ['required', 'calling one of your tools'],
    [NAMED, 'the tool "f"'],
    [ALLOWED, 'one of these tools: "f", "g"'],
  ])('arrives when the model is asked again: %j', async (choice, words) => {
    proxy.use(onSecondThought(callsF));
    const before = proxy.model.requests.length;
    expect(await askAll(proxy, { tools, choice })).toEqual(inAllWays({ calls: [F] }));
    const sent = proxy.model.requests.slice(before);
    expect(sent).toHaveLength(2 * WAYS.length);
    for (const [index, request] of sent.entries()) {
      // Without the relay only a message can require it.
      if (index % 2 === 1 || proxy === offWire) expect(lastMessage(request)).toMatchObject(line(words));
      else expect(lastMessage(request)).toMatchObject({ role: 'user' });
    }
  });

  it.each<readonly [unknown, Script]>([
    ['required', hello],
    [NAMED, toolCall('g')],
    [ALLOWED, toolCall('h')],
  ])('is an error if it is missing: %j', async (choice, script) => {
    proxy.use(script);
    const before = proxy.model.requests.length;
    expect(await askAll(proxy, { tools, choice })).toEqual(
      inAllWays({ status: 502, code: 'tool_choice_not_satisfied' }),
    );
    // Without the relay codex may call the model again itself before its turn is ended.
    if (proxy === onWire) expect(proxy.model.requests.length - before).toBe(2 * WAYS.length);
  });

  it('arrives without calls that are not allowed', async () => {
    proxy.use(
      says([
        { call: { name: 'h', arguments: '{}', callId: 'c1' } },
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c2' } },
      ]),
    );
    expect(await askAll(proxy, { tools, choice: ALLOWED })).toEqual(inAllWays({ calls: [F] }));
  });

  it('can be required by the older `function_call`', async () => {
    proxy.use(inTurn(hello, callsF));
    const { type: _type, ...own } = tool('f');
    const answer = await proxy.post('/v1/chat/completions', {
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
      functions: [own],
      function_call: { name: 'f' },
    });
    expect(await answer.json()).toMatchObject({
      choices: [{ message: { function_call: { name: 'f', arguments: '{"n":1}' } } }],
    });
  });

  it('has usage for all model requests', async () => {
    proxy.use(inTurn(hello, callsF));
    const answer = await proxy.post('/v1/responses', {
      model: 'gpt-5.5',
      input: 'hi',
      tools,
      tool_choice: NAMED,
    });
    const { usage } = (await answer.json()) as { usage: { input_tokens: number } };
    expect(usage.input_tokens).toBeGreaterThan(11);
  });
});

describe('with the relay', () => {
  it('the choice is sent in its field, all tools stay, and nothing is reported as ignored', async () => {
    onWire.use(callsF);
    const answer = await onWire.post('/v1/responses', {
      model: 'gpt-5.5',
      input: 'hi',
      tools,
      tool_choice: NAMED,
    });
    expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    await answer.text();
    const body = onWire.model.requests.at(-1)?.body;
    expect(body?.['tool_choice']).toEqual(NAMED);
    expect(body?.['tools']).toHaveLength(3);
  });

  it('a backend that refuses the field gets a message, and only the allowed tools', async () => {
    const refuses: Script = (request, connection) =>
      request.body['tool_choice'] === undefined || request.body['tool_choice'] === 'auto'
        ? callsF(request, connection)
        : connection.reply(
            400,
            modelErrorBody(
              "Unsupported parameter: 'tool_choice'.",
              'invalid_request_error',
              'tool_choice',
              null,
            ),
          );
    onWire.use(refuses);
    const ask = { tools, choice: ALLOWED, more: { model: 'without-choice' } };
    expect(await askBy(onWire, 'chat', ask)).toMatchObject({ calls: [F] });
    expect(await askBy(onWire, 'chat', ask)).toMatchObject({ calls: [F] });
    const last = onWire.model.requests.at(-1);
    expect(last === undefined ? null : lastMessage(last)).toMatchObject(line('one of these tools'));
    expect(last?.body['tools']).toMatchObject([{ name: 'f' }, { name: 'g' }]);
  });

  it('several choices of an answer each keep it', async () => {
    onWire.use(inTurn(hello, callsF));
    const answer = await onWire.post('/v1/chat/completions', {
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
      n: 3,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'required',
    });
    const { choices } = (await answer.json()) as { choices: readonly JsonObject[] };
    expect(choices.map((choice) => choice['finish_reason'])).toEqual([
      'tool_calls',
      'tool_calls',
      'tool_calls',
    ]);
  });

  it('a stream whose call takes long is kept alive, and its failure is in the stream', async () => {
    const impatient = await fresh(slow(40), { PROXY_SSE_KEEPALIVE_MS: '100' });
    expect(await askBy(impatient, 'responses stream', { tools, choice: 'required' })).toMatchObject({
      status: 200,
      code: 'tool_choice_not_satisfied',
      calls: [],
    });
  });

  it('a client that disconnects while its answer is held back ends the turn', async () => {
    onWire.use(says([{ text: 'Wait', end: 'open' }, { hang: true }]));
    const gone = new AbortController();
    const asking = onWire.post(
      '/v1/responses',
      { model: 'gpt-5.5', input: 'hi', tools, tool_choice: 'required' },
      { signal: gone.signal },
    );
    while (onWire.model.activeRequests() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    gone.abort();
    await expect(asking).rejects.toThrow(/abort/i);
    while (onWire.model.activeRequests() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});
