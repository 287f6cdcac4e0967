import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import { modelErrorBody, type Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import { hello, sureOfItself } from '../support/scripts.ts';

const start = freshProxies();

const LONG = Array.from({ length: 400 }, (_, index) => `word${index}`).join(' ');

/** A backend that does not know these parameters. */
const refuses =
  (...names: readonly string[]): Script =>
  ({ body }, connection) => {
    const found = names.find((name) => Object.hasOwn(body, name));
    if (found === undefined) return answer(connection, [{ text: LONG }]);
    const message = `Unsupported parameter: '${found}' is not supported with this model.`;
    return connection.reply(
      400,
      modelErrorBody(message, 'invalid_request_error', found, 'unsupported_parameter'),
    );
  };

const ASK = {
  model: 'gpt-5.5',
  input: 'hi',
  temperature: 0.5,
  top_p: 0.5,
  user: 'u',
  max_output_tokens: 20,
} as const;
const PLAIN = new Set(['max_output_tokens', 'metadata', 'temperature', 'top_p', 'user']);
const plainOf = (body: object | undefined): readonly string[] =>
  Object.keys(body ?? {})
    .filter((name) => PLAIN.has(name))
    .toSorted();

describe('a backend that refuses parameters', () => {
  it('is detected, and losses are reported to the client', async () => {
    const { post, model, log } = await start(refuses('temperature', 'max_output_tokens'));
    const first = await post('/v1/responses', ASK);
    expect([first.status, first.headers.get('x-proxy-ignored-params')]).toEqual([200, 'temperature']);
    // What it cannot limit is limited by us, in the same request.
    expect(await first.json()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    });
    expect(model.requests.map(({ body }) => plainOf(body))).toEqual([
      ['max_output_tokens', 'temperature', 'top_p', 'user'],
      ['max_output_tokens', 'top_p', 'user'],
      ['top_p', 'user'],
    ]);
    const second = await post('/v1/responses', { ...ASK, stream: true });
    expect([second.status, second.headers.get('x-proxy-ignored-params')]).toEqual([200, 'temperature']);
    expect(await second.text()).toContain('response.incomplete');
    expect(model.requests.slice(3).map(({ body }) => plainOf(body))).toEqual([['top_p', 'user']]);
    const lines = log.filter((line) => line['msg'] === 'the backend rejects a parameter');
    expect(lines).toMatchObject([
      { model: 'gpt-5.5', field: 'temperature' },
      { model: 'gpt-5.5', field: 'max_output_tokens' },
    ]);
  });

  it('is detected with strict parameters too, and the client gets an error', async () => {
    const { post } = await start(refuses('temperature'), { PROXY_STRICT_PARAMS: 'true' });
    for (const stream of [true, false]) {
      const response = await post('/v1/responses', { ...ASK, stream });
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { error: { code: 'unsupported_parameter', param: 'temperature' } },
      ]);
    }
    const { temperature: _, ...rest } = ASK;
    expect((await post('/v1/responses', rest)).status).toBe(200);
  });

  it('is asked again for strict requests, so that nothing is rejected from memory', async () => {
    const strict = { PROXY_STRICT_PARAMS: 'true' };
    const { post, use, model } = await start(refuses('temperature'), strict);
    expect((await post('/v1/responses', ASK)).status).toBe(400);
    // The backend accepts them now.
    use(hello);
    expect((await post('/v1/responses', ASK)).status).toBe(200);
    expect(plainOf(model.requests.at(-1)?.body)).toContain('temperature');
  });

  it('is asked again for log probabilities, which a chat requires', async () => {
    const { post, use, model } = await start(refuses('top_logprobs'));
    const chat = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }] };
    const insisting = { ...chat, logprobs: true, top_logprobs: 2 };
    expect((await post('/v1/chat/completions', insisting)).status).toBe(400);
    use(sureOfItself);
    expect((await post('/v1/chat/completions', insisting)).status).toBe(200);
    expect(model.requests.at(-1)?.body).toMatchObject({ top_logprobs: 2 });
  });

  it('does not affect other callers and other efforts', async () => {
    const { url, model } = await start(refuses('temperature'), { PROXY_API_KEY: 'sk-key-one,sk-key-two' });
    const ask = async (key: string, effort: string): Promise<void> => {
      const { temperature, model: name, input } = ASK;
      const response = await fetch(`${url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: name, input, temperature, reasoning: { effort } }),
      });
      expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, 'temperature']);
      await response.text();
    };
    const sent = (): readonly boolean[] =>
      model.requests.map(({ body }) => Object.hasOwn(body, 'temperature'));
    await ask('sk-key-one', 'low');
    expect(sent()).toEqual([true, false]);
    await ask('sk-key-one', 'low');
    expect(sent()).toEqual([true, false, false]);
    await ask('sk-key-two', 'low');
    expect(sent()).toEqual([true, false, false, true, false]);
    await ask('sk-key-one', 'high');
    expect(sent()).toEqual([true, false, false, true, false, true, false]);
  });

  it("is not blamed for the client's errors", async () => {
    const error = modelErrorBody(
      "Invalid schema for function 'f': 'oops' is not a valid type.",
      'invalid_request_error',
      'tools[0].parameters',
      'invalid_function_parameters',
    );
    const { post, model } = await start((_request, connection) => connection.reply(400, error));
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const response = await post('/v1/responses', { ...ASK, tools });
    expect([response.status, await response.json()]).toEqual([400, error]);
    expect(model.requests).toHaveLength(1);
  });
});

describe("the operator's list of parameters", () => {
  it.each([
    ['none', [], 'temperature, top_p'],
    ['all', ['max_output_tokens', 'temperature', 'top_p', 'user'], null],
    ['top_p, user', ['top_p', 'user'], 'temperature'],
  ])('is used: %s', async (list, sent, ignored) => {
    const { post, model } = await start(hello, { PROXY_UPSTREAM_PARAMS: list });
    const response = await post('/v1/responses', ASK);
    expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, ignored]);
    expect(model.requests.map(({ body }) => plainOf(body))).toEqual([sent]);
  });

  it('is used with strict parameters', async () => {
    const { post } = await start(hello, { PROXY_UPSTREAM_PARAMS: 'top_p', PROXY_STRICT_PARAMS: 'true' });
    const response = await post('/v1/responses', ASK);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param: 'temperature' } },
    ]);
    expect((await post('/v1/responses', { model: 'gpt-5.5', input: 'hi', top_p: 0.5 })).status).toBe(200);
  });
});

describe('without the relay', () => {
  it('everything works as far as possible, and losses are reported', async () => {
    const { post, model } = await start((_request, connection) => answer(connection, [{ text: LONG }]), {
      PROXY_WIRE: 'off',
    });
    const tools = [
      { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } },
      { type: 'function', name: 'g', parameters: { type: 'object', properties: {} } },
    ];
    const response = await post('/v1/responses', {
      ...ASK,
      tools,
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] },
    });
    expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([
      200,
      'temperature, top_p',
    ]);
    const body = model.requests[0]?.body;
    expect(plainOf(body)).toEqual([]);
    expect(body?.['tools']).toMatchObject([{ name: 'g' }]);
    expect(body?.['tool_choice']).toBe('auto');
    const limited = await post('/v1/responses', { model: 'gpt-5.5', input: 'hi', max_output_tokens: 20 });
    expect(await limited.json()).toMatchObject({ status: 'incomplete' });
    const strange = await post('/v1/responses', {
      model: 'someone-elses-model',
      input: 'hi',
      text: { verbosity: 'low' },
    });
    expect(strange.headers.get('x-proxy-ignored-params')).toBe('text.verbosity');
    await strange.text();
  });

  it("a call arrives whole, and errors in the app-server's words", async () => {
    const { post, use } = await start(
      (_request, connection) =>
        answer(connection, [{ call: { name: 'f', arguments: '{"a":1}', callId: 'c1' }, chunkSize: 2 }]),
      { PROXY_WIRE: 'off' },
    );
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
    const response = await post('/v1/responses', { model: 'gpt-5.5', input: 'hi', tools });
    expect(await response.json()).toMatchObject({
      output: [{ call_id: 'c1', arguments: '{"a":1}' }],
    });
    use((_request, connection) =>
      connection.reply(429, modelErrorBody('Slow.', 'rate_limit_error', null, 'rate_limit_exceeded')),
    );
    const limited = await post('/v1/responses', { model: 'gpt-5.5', input: 'hi' });
    expect([limited.status, await limited.json()]).toMatchObject([
      429,
      { error: { code: 'rate_limit_exceeded' } },
    ]);
    use((_request, connection) => answer(connection, [{ refusal: 'No.' }]));
    const refused = await post('/v1/responses', { model: 'gpt-5.5', input: 'hi' });
    expect(await refused.json()).toMatchObject({ status: 'completed' });
  });
});

describe('a model that does not reason', () => {
  it("is asked again without the encrypted reasoning that codex requests, and keeps the client's `include`", async () => {
    const script: Script = ({ body }, connection) => {
      if (!JSON.stringify(body['include'] ?? []).includes('encrypted'))
        return answer(connection, [{ text: LONG }]);
      const message = 'Encrypted content is not supported with this model.';
      return connection.reply(400, modelErrorBody(message, 'invalid_request_error', 'include', null));
    };
    const { post, model } = await start(script);
    const include = ['message.output_text.logprobs'];
    for (const more of [{}, { include }, {}]) {
      const response = await post('/v1/responses', { model: 'gpt-4.1', input: 'hi', ...more });
      expect([response.status, response.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
    }
    expect(model.requests.map(({ body }) => body['include'])).toEqual([
      ['reasoning.encrypted_content'],
      undefined,
      include,
      undefined,
    ]);
  });
});
