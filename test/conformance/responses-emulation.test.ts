import type { FunctionTool } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello, refusal, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { objectsIn, sentBody, sentItems } from './responses-sent.ts';

/** Without the relay, only the app-server's protocol is available: what is emulated, and what is reported as ignored. */

const { proxy, client } = await openChecked(hello, { PROXY_WIRE: 'off' });

const ASK = { model: 'gpt-5.5', input: 'hi' } as const;
const tool = (name: string): FunctionTool => ({
  type: 'function',
  name,
  description: '',
  strict: false,
  parameters: { type: 'object', properties: {} },
});
const toolsSent = (): unknown => objectsIn(sentBody(proxy.model)['tools']).map((one) => one['name']);

describe('max_output_tokens', () => {
  const text = Array.from({ length: 200 }, (_, index) => `word${index}`).join(' ');

  it.each([true, false])('truncates a text that is too long (stream: %s)', async (stream) => {
    proxy.use(says([{ text }]));
    const ask = { ...ASK, max_output_tokens: 16 };
    const response = stream
      ? await client.openai.responses.stream(ask).finalResponse()
      : await client.openai.responses.create(ask);
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      max_output_tokens: 16,
      output: [{ type: 'message', status: 'incomplete' }],
    });
    expect(response.output_text).not.toBe('');
    expect(text.startsWith(response.output_text)).toBe(true);
    expect(response.usage).toEqual({
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 16,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 23,
    });
  });

  it('marks usage that this server counted itself', async () => {
    proxy.use(says([{ text }]));
    const headerOf = async (ask: object): Promise<string | null> =>
      (await proxy.post('/v1/responses', { ...ASK, ...ask })).headers.get('x-proxy-usage');
    expect([await headerOf({ max_output_tokens: 16 }), await headerOf({})]).toEqual(['counted', null]);
    const stream = await proxy.post('/v1/chat/completions', {
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
      max_tokens: 16,
      stream: true,
      stream_options: { include_usage: true },
    });
    const blocks = (await stream.text()).trim().split('\n\n');
    const usage = JSON.parse(blocks.at(-2)?.slice('data: '.length) ?? '') as Record<string, unknown>;
    expect([blocks.at(-3), usage['choices'], blocks.at(-1)]).toEqual([
      ': x-proxy-usage: counted',
      [],
      'data: [DONE]',
    ]);
    expect(usage['usage']).toMatchObject({ prompt_tokens: 7, completion_tokens: 16, total_tokens: 23 });
  });

  it('stops the model', async () => {
    proxy.use(says([{ text }, { hang: true }]));
    await client.openai.responses.create({ ...ASK, max_output_tokens: 16 });
    expect(await proxy.model.requests.at(-1)?.ended).toBe('aborted');
  });

  it('does not change a short answer', async () => {
    proxy.use(hello);
    const response = await client.openai.responses.create({ ...ASK, max_output_tokens: 16 });
    expect([response.status, response.output_text]).toEqual(['completed', 'Hello from the scripted model.']);
  });
});

describe('an output schema', () => {
  const schema = { type: 'object', properties: {}, required: [], additionalProperties: false };
  const ignored = async (path: string, ask: object): Promise<string | null> => {
    proxy.use(says([{ text: '{}' }]));
    const answer = await proxy.post(path, { model: 'gpt-5.5', ...ask });
    expect(answer.status).toBe(200);
    return answer.headers.get('x-proxy-ignored-params');
  };

  it('is sent by codex under its own name and as strict, which is reported', async () => {
    const given = { name: 'answer', description: 'All of it.', schema, strict: false };
    const format = { type: 'json_schema', ...given };
    const named = await ignored('/v1/responses', { input: 'hi', text: { format } });
    expect([named, (sentBody(proxy.model)['text'] as JsonObject)['format']]).toEqual([
      'text.format.name, text.format.description, text.format.strict',
      { type: 'json_schema', name: 'codex_output_schema', schema, strict: true },
    ]);
    expect(
      await ignored('/v1/chat/completions', {
        messages: [{ role: 'user', content: 'hi' }],
        response_format: { type: 'json_schema', json_schema: given },
      }),
    ).toBe(
      'response_format.json_schema.name, response_format.json_schema.description, response_format.json_schema.strict',
    );
    expect(
      await ignored('/v1/responses', {
        input: 'hi',
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } },
      }),
    ).toBe('response_format.json_schema.name');
    const own = { type: 'json_schema', name: 'codex_output_schema', schema, strict: true };
    expect(await ignored('/v1/responses', { input: 'hi', text: { format: own } })).toBeNull();
  });
});

describe('tool_choice', () => {
  it('none: the model gets no tools, and the response echoes all', async () => {
    proxy.use(hello);
    const response = await client.openai.responses.create({
      ...ASK,
      tools: [tool('a'), tool('b')],
      tool_choice: 'none',
    });
    expect([response.tool_choice, response.tools.map((one) => one.type), toolsSent()]).toEqual([
      'none',
      ['function', 'function'],
      [],
    ]);
  });

  it('allowed_tools: the model gets only those', async () => {
    proxy.use(hello);
    await client.openai.responses.create({
      ...ASK,
      tools: [tool('a'), tool('b')],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] },
    });
    expect(toolsSent()).toEqual(['b']);
  });
});

describe('parameters without effect', () => {
  it('are named in a header, and echoed as OpenAI does', async () => {
    proxy.use(hello);
    const { data, response } = await client.openai.responses
      .create({
        ...ASK,
        temperature: 0.2,
        top_p: 0.9,
        truncation: 'auto',
      })
      .withResponse();
    expect(response.headers.get('x-proxy-ignored-params')).toBe('temperature, top_p, truncation');
    const { temperature, top_p, truncation } = data;
    expect({ temperature, top_p, truncation }).toEqual({
      temperature: 0.2,
      top_p: 0.9,
      truncation: 'auto',
    });
  });
});

describe('input that the app-server does not accept unchanged', () => {
  it('system messages become developer messages', async () => {
    proxy.use(hello);
    await client.openai.responses.create({
      model: 'gpt-5.5',
      input: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'B' },
      ],
    });
    expect(sentItems(proxy.model)).toEqual([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'A' }] },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'B' }] },
    ]);
  });

  it('audio becomes a data URL', async () => {
    proxy.use(hello);
    const audio = { type: 'input_audio', input_audio: { data: 'UklGRgAAAABXQVZF', format: 'wav' } };
    await proxy.post('/v1/responses', { model: 'gpt-5.5', input: [{ role: 'user', content: [audio] }] });
    expect(sentItems(proxy.model)).toEqual([
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_audio', audio_url: 'data:audio/wav;base64,UklGRgAAAABXQVZF' }],
      },
    ]);
  });
});

describe('parameters that only the relay can forward', () => {
  const refused = async (body: object): Promise<unknown> => {
    const response = await proxy.post('/v1/responses', { ...ASK, ...body });
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    return [response.status, error.code, error.param];
  };
  const file = (raw: object) => ({ input: [{ role: 'user', content: [{ type: 'input_file', ...raw }] }] });

  it('are rejected by name, except those that codex accepts', async () => {
    proxy.use(hello);
    const search = {
      type: 'web_search_call',
      id: 'ws_1',
      status: 'completed',
      action: { type: 'search', query: 'q' },
    };
    const user = { role: 'user', content: 'hi' };
    expect(await refused({ tools: [{ type: 'web_search' }] })).toEqual([400, 'unsupported_tool', 'tools[0]']);
    expect(await refused({ input: [user, search, { type: 'file_search_call' }] })).toEqual([
      400,
      'unsupported_value',
      'input[2]',
    ]);
    expect(await refused(file({ file_url: 'https://example.org/a.pdf' }))).toEqual([
      400,
      'unsupported_file',
      'input[0].content[0]',
    ]);
    await (await proxy.post('/v1/responses', { ...ASK, input: [user, search, user] })).text();
    expect(sentItems(proxy.model)[1]).toMatchObject({ type: 'web_search_call', action: { query: 'q' } });
  });

  it('may be converted: a text file becomes text with its name', async () => {
    proxy.use(hello);
    const data = `data:text/markdown;base64,${Buffer.from('# Notes').toString('base64')}`;
    await (
      await proxy.post('/v1/responses', { ...ASK, ...file({ filename: 'a.md', file_data: data }) })
    ).text();
    expect(sentItems(proxy.model)).toMatchObject([{ content: [{ text: 'a.md:\n\n# Notes' }] }]);
  });
});

describe('a refusal', () => {
  it('is an empty answer, because the app-server does not pass refusals on', async () => {
    proxy.use(refusal);
    const response = await client.openai.responses.create(ASK);
    expect([response.status, response.output_text]).toEqual(['completed', '']);
  });
});
