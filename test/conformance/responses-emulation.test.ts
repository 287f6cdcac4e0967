import type { FunctionTool } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { hello, refusal, says } from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';
import { objectsIn, sentBody, sentItems } from './responses-sent.ts';

/** Without the relay the app-server's own protocol is all there is: what we do ourselves, and what we own up to. */

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

  it.each([true, false])('cuts a text that is too long (stream: %s)', async (stream) => {
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
  });

  it('stops the model', async () => {
    proxy.use(says([{ text }, { hang: true }]));
    await client.openai.responses.create({ ...ASK, max_output_tokens: 16 });
    expect(await proxy.model.requests.at(-1)?.ended).toBe('aborted');
  });

  it('leaves a short answer alone', async () => {
    proxy.use(hello);
    const response = await client.openai.responses.create({ ...ASK, max_output_tokens: 16 });
    expect([response.status, response.output_text]).toEqual(['completed', 'Hello from the scripted model.']);
  });
});

describe('tool_choice', () => {
  it('none: the model is told of no tool, the client of all', async () => {
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

  it('allowed_tools: the model is told of those', async () => {
    proxy.use(hello);
    await client.openai.responses.create({
      ...ASK,
      tools: [tool('a'), tool('b')],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] },
    });
    expect(toolsSent()).toEqual(['b']);
  });
});

describe('what has no effect', () => {
  it('is named in a header, and echoed as OpenAI would', async () => {
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

describe('input that the app-server would not take as it is', () => {
  it('system messages go as developer messages', async () => {
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

  it('audio goes as a data URL', async () => {
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

describe('a refusal', () => {
  it('is an empty answer: the app-server does not say what was refused', async () => {
    proxy.use(refusal);
    const response = await client.openai.responses.create(ASK);
    expect([response.status, response.output_text]).toEqual(['completed', '']);
  });
});
