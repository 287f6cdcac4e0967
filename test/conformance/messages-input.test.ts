import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import Anthropic, { APIError, BadRequestError } from '@anthropic-ai/sdk';
import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, describe, expect, it } from 'vitest';

import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { sentBody, sentItems } from './responses-sent.ts';

/** Requests of Anthropic's SDK, and what reaches the model. */

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const images = createServer((request, response) => {
  const isThere = request.url === '/cat.png';
  response.writeHead(isThere ? 200 : 404, { 'content-type': 'image/png' });
  response.end(isThere ? Buffer.from(PNG, 'base64') : '');
});
await new Promise<void>((resolve) => {
  images.listen(0, '127.0.0.1', resolve);
});
afterAll(() => {
  images.close();
});
const imageUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;

const proxy = await openProxy(hello, { PROXY_IMAGE_URLS: 'fetch', PROXY_IMAGE_FETCH_PRIVATE: 'true' });
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });

type Ask = Partial<MessageCreateParamsNonStreaming>;
const ask = (body: Ask): MessageCreateParamsNonStreaming => ({
  model: 'gpt-5.5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hi.' }],
  ...body,
});
/** The items that reach the model. */
const seen = async (body: Ask): Promise<unknown> => {
  await anthropic.messages.create(ask(body));
  return sentItems(proxy.model);
};
const rejected = async (body: object): Promise<APIError> => {
  const error: unknown = await anthropic.messages.create(ask(body as Ask)).catch((reason: unknown) => reason);
  if (!(error instanceof APIError)) throw new Error('it was not rejected');
  return error;
};
const message = (role: string, ...content: readonly unknown[]) => ({ type: 'message', role, content });
const text = (value: string) => ({ type: 'input_text', text: value });
const said = (value: string) => ({ type: 'output_text', text: value });
const image = { type: 'input_image', image_url: `data:image/png;base64,${PNG}` };

describe('a conversation', () => {
  it('reaches the model with its calls, results and images', async () => {
    const cache_control = { type: 'ephemeral' } as const;
    const items = await seen({
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.325.abc' },
        { type: 'text', text: 'You are brief.', cache_control },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
            { type: 'image', source: { type: 'url', url: `${imageUrl}/cat.png` } },
            {
              type: 'document',
              title: 'Notes',
              source: { type: 'text', media_type: 'text/plain', data: 'Rain.' },
            },
          ],
        },
        { role: 'system', content: 'Use tools.' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'a' } },
            { type: 'tool_use', id: 'toolu_2', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true, content: 'No file.' },
            {
              type: 'tool_result',
              tool_use_id: 'toolu_1',
              content: [
                { type: 'text', text: 'This:' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
              ],
            },
            { type: 'text', text: 'Go on.', cache_control },
          ],
        },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
    });
    expect(items).toEqual([
      message('system', text('You are brief.')),
      message('user', text('What is this?'), image, image, text('Notes\nRain.')),
      message('system', text('Use tools.')),
      message('assistant', said('I look.')),
      { type: 'function_call', call_id: 'toolu_1', name: 'look', arguments: '{"at":"a"}' },
      { type: 'function_call', call_id: 'toolu_2', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'toolu_2', output: 'Error: The tool call failed.\nNo file.' },
      { type: 'function_call_output', call_id: 'toolu_1', output: [text('This:'), image] },
      message('user', text('Go on.')),
    ]);
    expect(JSON.stringify(sentBody(proxy.model))).not.toMatch(/cache_control|ephemeral|billing/);
  });

  it('reaches the model with an empty message', async () => {
    expect(await seen({ messages: [{ role: 'user', content: '' }] })).toEqual([message('user', text(''))]);
  });

  it('may contain a PDF', async () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } as const;
    expect(await seen({ messages: [{ role: 'user', content: [{ type: 'document', source }] }] })).toEqual([
      message('user', {
        type: 'input_file',
        filename: 'document.pdf',
        file_data: 'data:application/pdf;base64,JVBERi0=',
      }),
    ]);
  });

  it('is rejected with the place of an image that cannot be fetched', async () => {
    const source = { type: 'url', url: `${imageUrl}/dog.png` };
    const messages = [
      {
        role: 'user',
        content: [
          { type: 'text', text: '' },
          { type: 'image', source },
        ],
      },
    ];
    const error = await rejected({ messages });
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.message).toContain('messages[0].content[1]');
  });

  it.each([
    [
      'a block',
      { messages: [{ role: 'user', content: [{ type: 'container_upload', file_id: 'f' }] }] },
      'container_upload',
    ],
    ['a field', { container: 'container_1' }, 'container'],
    [
      'a result without its call',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_9' }] }] },
      'toolu_9',
    ],
    [
      'the beginning of an answer',
      {
        messages: [
          { role: 'user', content: 'JSON.' },
          { role: 'assistant', content: '{' },
        ],
      },
      'prefill',
    ],
  ])('is rejected by name: %s', async (_, body, name) => {
    const error = await rejected(body);
    expect([error.status, error.type]).toEqual([400, 'invalid_request_error']);
    expect(error.message).toContain(name);
  });
});

describe('settings', () => {
  it('reach the model', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    await anthropic.messages.create(
      ask({
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort: 'high', format: { type: 'json_schema', schema } },
      }),
    );
    expect(sentBody(proxy.model)).toMatchObject({
      reasoning: { effort: 'high', summary: 'auto' },
      text: { format: { type: 'json_schema', schema, strict: true } },
    });
  });

  it('without an effect are named', async () => {
    const { response } = await anthropic.messages
      .create({ ...ask({}), top_k: 5, future: true } as MessageCreateParamsNonStreaming)
      .withResponse();
    expect(response.headers.get('x-proxy-ignored-params')).toBe('future, top_k');
  });
});

describe('a deployment', () => {
  const start = freshProxies();

  it('may ignore the prompts of clients, and reject what it ignores', async () => {
    const own = await start(hello, {
      PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: 'true',
      PROXY_STRICT_PARAMS: 'true',
    });
    const client = new Anthropic({ baseURL: own.url, apiKey: own.key, maxRetries: 0 });
    const rejectedFor = async (more: object): Promise<unknown> => {
      const answer: unknown = await client.messages
        .create({ ...ask({}), ...more })
        .catch((reason: unknown) => reason);
      return answer instanceof BadRequestError ? answer.message : answer;
    };
    expect(await rejectedFor({ top_k: 5 })).toContain('top_k');
    expect(await rejectedFor({ system: 'Be brief.' })).toContain("'system'");
    expect(await rejectedFor({})).toMatchObject({ type: 'message' });
  });
});
