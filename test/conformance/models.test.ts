import { NotFoundError } from 'openai';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { checkedClient, type CheckedClient } from './responses-checked.ts';

let proxy: TestProxy;
let client: CheckedClient;

const useProxy = (models: Parameters<typeof startProxy>[2], env: Record<string, string> = {}): void => {
  beforeAll(async () => {
    proxy = await startProxy(hello, env, models);
    client = checkedClient(proxy);
  });
  afterAll(async () => {
    await client.close();
    await proxy.close();
  });
  afterEach(() => client.check());
};

/** The last model request. */
const sent = () => {
  const body = proxy.model.requests.at(-1)?.body;
  return { model: body?.['model'], reasoning: body?.['reasoning'], service_tier: body?.['service_tier'] };
};

const GPT_5_5 = {
  object: 'model',
  created: 0,
  owned_by: 'codex',
  display_name: 'GPT-5.5',
  context_window: 272_000,
  max_context_window: 272_000,
  input_modalities: ['text', 'image'],
  reasoning_efforts: ['low', 'medium', 'high', 'xhigh'],
  default_reasoning_effort: 'medium',
  service_tiers: ['priority'],
};

describe('a provider without a model list', () => {
  useProxy(
    { models: null },
    { PROXY_MODEL_ALIASES: '{"house": "gpt-5.5-high", "home": "house", "gpt-6-sol": "gpt-6-sol-low"}' },
  );

  it('has the models of codex with their efforts, and the family of the default model', async () => {
    const ids = (await Array.fromAsync(client.openai.models.list())).map((model) => model.id);
    expect(ids).toEqual(
      expect.arrayContaining([
        'gpt-5.5',
        'gpt-5.5-low',
        'gpt-5.5-medium',
        'gpt-5.5-high',
        'gpt-5.5-xhigh',
        'gpt-5.5-fast',
        'gpt-6.1-sol',
        'gpt-6.1-sol-max',
        'codex-5',
        'codex-5-low',
        'codex-5-high',
        'codex-5-fast',
        'house',
        'home',
      ]),
    );
    expect(new Set(ids).size).toBe(ids.length);
    // Twins and the entry for unknown names are only for codex.
    expect(ids.filter((id) => id.includes('--') || id === '')).toEqual([]);
  });

  it('is the same with and without a key', async () => {
    const lists = await Promise.all([client.openai.models.list(), client.openai.models.list()]);
    expect(lists[0].data).toEqual(lists[1].data);
  });

  it.each([
    ['gpt-5.5', {}],
    ['gpt-5.5-high', { alias_of: 'gpt-5.5', default_reasoning_effort: 'high' }],
    ['gpt-5.5-fast', { alias_of: 'gpt-5.5', default_service_tier: 'priority' }],
    [
      'gpt-5.5-low-fast',
      { alias_of: 'gpt-5.5', default_reasoning_effort: 'low', default_service_tier: 'priority' },
    ],
    ['gpt-5.5-codev-l', { alias_of: 'gpt-5.5', default_reasoning_effort: 'low' }],
    ['home', { alias_of: 'gpt-5.5', default_reasoning_effort: 'high' }],
  ])('returns one model: %s', async (id, more) => {
    expect(await client.openai.models.retrieve(id)).toEqual({ ...GPT_5_5, id, ...more });
  });

  it('an unknown name is a NotFoundError', async () => {
    const missing = client.openai.models.retrieve('org/no such model');
    await expect(missing).rejects.toBeInstanceOf(NotFoundError);
    await expect(missing).rejects.toMatchObject({
      status: 404,
      error: {
        message: "The model 'org/no such model' does not exist.",
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    });
  });

  it('every listed name can be requested', async () => {
    const [first] = (await client.openai.models.list()).data;
    const response = await client.openai.responses.create({ model: first?.id ?? '', input: 'hi' });
    expect(response.model).toBe(first?.id);
  });

  it('the family name is sent as the default model, with the settings of the alias', async () => {
    const response = await client.openai.responses.create({ model: 'codex-5-low-fast', input: 'hi' });
    expect(sent()).toEqual({
      model: 'gpt-6.1-sol',
      reasoning: { effort: 'low' },
      service_tier: 'priority',
    });
    expect(response).toMatchObject({ reasoning: { effort: 'low' }, service_tier: 'priority' });
  });

  it("the model's default effort is in the answer, if a request has none", async () => {
    const { reasoning } = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi' });
    expect(reasoning).toEqual({ effort: 'medium', summary: null });
  });

  it.each([
    ['gpt-5.2-codev-l', { model: 'gpt-5.2', reasoning: { effort: 'low' } }],
    ['gpt-5.5-codev-xh', { model: 'gpt-5.5', reasoning: { effort: 'xhigh' } }],
    ['gpt-5.5-codev', { model: 'gpt-5.5' }],
    ['codex-5-codev-m', { model: 'gpt-6.1-sol', reasoning: { effort: 'medium' } }],
    ['home', { model: 'gpt-5.5', reasoning: { effort: 'high' } }],
    ['house-codev-l', { model: 'gpt-5.5', reasoning: { effort: 'low' } }],
    ['gpt-6-sol', { model: 'gpt-6-sol', reasoning: { effort: 'low' } }],
  ])('%s is resolved', async (model, meaning) => {
    await client.openai.responses.create({ model, input: 'hi' });
    expect(sent()).toEqual({ reasoning: undefined, service_tier: undefined, ...meaning });
  });

  it('the requested name is in the answer, on both APIs, stream and JSON', async () => {
    const { responses } = client.openai;
    const { completions } = proxy.openai.chat;
    const messages = [{ role: 'user' as const, content: 'hi' }];
    for (const model of ['home', 'gpt-5.2-codev-l']) {
      const response = await responses.create({ model, input: 'hi' });
      const events = await Array.fromAsync(await responses.create({ model, input: 'hi', stream: true }));
      const completion = await completions.create({ model, messages });
      const chunks = await Array.fromAsync(await completions.create({ model, messages, stream: true }));
      const named = events.flatMap((event) => ('response' in event ? [event.response.model] : []));
      const names = [response.model, ...named, completion.model, ...chunks.map((chunk) => chunk.model)];
      expect([names.length > 4, new Set(names)]).toEqual([true, new Set([model])]);
    }
  });

  it('an effort in the request overrides that of the name', async () => {
    const reasoning = { effort: 'medium' as const };
    for (const model of ['house', 'gpt-5.2-codev-l']) {
      await client.openai.responses.create({ model, input: 'hi', reasoning });
      expect(sent().reasoning).toEqual(reasoning);
    }
  });

  it('a tier in the request overrides that of the name', async () => {
    await client.openai.responses.create({ model: 'gpt-5.5-fast', input: 'hi', service_tier: 'flex' });
    expect(sent().service_tier).toBe('flex');
  });

  it.each(['/v1/chat/completions', '/v1/completions'])('%s supports the tier too', async (path) => {
    const ask = path.includes('chat') ? { messages: [{ role: 'user', content: 'hi' }] } : { prompt: 'hi' };
    await (await proxy.post(path, { model: 'gpt-5.5-high-fast', ...ask })).text();
    expect(sent()).toEqual({ model: 'gpt-5.5', reasoning: { effort: 'high' }, service_tier: 'priority' });
  });
});

describe('a provider with its own model list', () => {
  useProxy({
    models: {
      object: 'list',
      data: [
        { id: 'text-embedding-9', object: 'model', created: 5, owned_by: 'acme' },
        { id: 'acme/llama', object: 'model', created: 7, owned_by: 'acme', context_length: 8_192 },
        { id: 'acme/other', object: 'model', created: 8, owned_by: 'acme' },
      ],
    },
  });
  const LLAMA = { object: 'model', created: 7, owned_by: 'acme', context_window: 8_192 };

  it('lists exactly those models', async () => {
    expect(await (await proxy.get('/v1/models')).json()).toEqual({
      object: 'list',
      data: [
        { id: 'text-embedding-9', object: 'model', created: 5, owned_by: 'acme' },
        { ...LLAMA, id: 'acme/llama' },
        { id: 'acme/other', object: 'model', created: 8, owned_by: 'acme' },
        { ...LLAMA, id: 'codex-5', alias_of: 'acme/llama' },
      ],
    });
  });

  it.each([
    ['codex-5', { model: 'acme/llama', reasoning: undefined, service_tier: undefined }],
    ['codex-5-high', { model: 'acme/llama', reasoning: { effort: 'high' }, service_tier: undefined }],
    ['codex-5-fast', { model: 'acme/llama', reasoning: undefined, service_tier: 'priority' }],
    ['acme/other', { model: 'acme/other', reasoning: undefined, service_tier: undefined }],
    // Not offered here, but codex's data about it applies.
    ['gpt-5.5-high', { model: 'gpt-5.5', reasoning: { effort: 'high' }, service_tier: undefined }],
  ])('resolves %s', async (model, expected) => {
    await client.openai.responses.create({ model, input: 'hi' });
    expect(sent()).toEqual(expected);
  });

  it('tools are plain tools for every model, and tool outputs are complete', async () => {
    const tools = [
      {
        type: 'function' as const,
        name: 'look',
        description: 'Looks.',
        strict: false,
        parameters: { type: 'object', properties: {} },
      },
    ];
    const output = 'a word '.repeat(30_000);
    const input = [
      { role: 'user' as const, content: 'hi' },
      { type: 'function_call' as const, call_id: 'call_1', name: 'look', arguments: '{}' },
      { type: 'function_call_output' as const, call_id: 'call_1', output },
    ];
    for (const model of ['gpt-6.1-sol', 'gpt-6-luna', 'acme/llama', 'some-model-of-tomorrow']) {
      await client.openai.responses.create({ model, input, tools });
      const body = proxy.model.requests.at(-1)?.body;
      const items = (body?.['input'] ?? []) as readonly Record<string, unknown>[];
      expect({
        model: body?.['model'],
        tools: body?.['tools'],
        parallel: body?.['parallel_tool_calls'],
        types: items.map((item) => item['type']),
        isWhole: items.at(-1)?.['output'] === output,
        lite: proxy.model.requests.at(-1)?.headers['x-openai-internal-codex-responses-lite'],
      }).toEqual({
        model,
        tools,
        // The client did not set it, so the backend decides.
        parallel: undefined,
        types: ['message', 'function_call', 'function_call_output'],
        isWhole: true,
        lite: undefined,
      });
    }
  });
});
