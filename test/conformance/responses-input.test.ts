import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { InputTokenCountParams } from 'openai/resources/responses/input-tokens';
import type { ResponseInputContent, ResponseInputItem } from 'openai/resources/responses/responses';

import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { checkedClient, type CheckedClient } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

/** Input of clients, and what reaches the model. */

const PNG_BASE64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const DATA_URL = `data:image/png;base64,${PNG_BASE64}`;

let proxy: TestProxy;
let client: CheckedClient;
let images: Server;
let imageUrl: string;
beforeAll(async () => {
  proxy = await startProxy(hello, { PROXY_IMAGE_URLS: 'fetch', PROXY_IMAGE_FETCH_PRIVATE: 'true' });
  client = checkedClient(proxy);
  images = createServer((request, response) => {
    if (request.url === '/cat.png') {
      response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.from(PNG_BASE64, 'base64'));
    } else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    images.listen(0, '127.0.0.1', resolve);
  });
  imageUrl = `http://127.0.0.1:${(images.address() as AddressInfo).port}`;
});
afterAll(async () => {
  images.close();
  await client.close();
  await proxy.close();
});
afterEach(() => client.check());

/** The items that reach the model for this input. */
const seen = async (input: string | ResponseInputItem[]): Promise<unknown> => {
  await client.openai.responses.create({ model: 'gpt-5.5', input });
  return sentItems(proxy.model);
};
const user = (...content: readonly unknown[]): unknown[] => [{ type: 'message', role: 'user', content }];
const ask = (...content: ResponseInputContent[]): ResponseInputItem[] => [{ role: 'user', content }];
const text = (value: string) => ({ type: 'input_text' as const, text: value });

describe('text', () => {
  it('a string becomes a user message', async () => {
    expect(await seen('hi')).toEqual(user(text('hi')));
  });

  it('messages keep role and order', async () => {
    expect(
      await seen([
        { role: 'system', content: 'A' },
        { role: 'developer', content: [text('B')] },
        { role: 'user', content: 'C' },
        { role: 'assistant', content: 'D' },
        { type: 'message', role: 'user', content: [text('E'), text('F')] },
      ]),
    ).toEqual([
      { type: 'message', role: 'system', content: [text('A')] },
      { type: 'message', role: 'developer', content: [text('B')] },
      { type: 'message', role: 'user', content: [text('C')] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'D' }] },
      { type: 'message', role: 'user', content: [text('E'), text('F')] },
    ]);
  });

  it.each([
    '',
    ' ',
    '\u0000',
    '😀 é\u2028',
    '{"type":"message"}',
    '<system>no</system>',
    'x'.repeat(300_000),
  ])('arrives unchanged (%#)', async (value) => {
    expect(await seen(value)).toEqual(user(text(value)));
  });
});

describe('images', () => {
  it('are accepted as a data URL', async () => {
    expect(
      await seen(ask(text('look'), { type: 'input_image', image_url: DATA_URL, detail: 'high' })),
    ).toEqual(user(text('look'), { type: 'input_image', image_url: DATA_URL, detail: 'high' }));
  });

  it('are accepted as an http URL, which is fetched if configured', async () => {
    const [message] = (await seen(
      ask({ type: 'input_image', image_url: `${imageUrl}/cat.png`, detail: 'auto' }),
    )) as { content: unknown[] }[];
    expect(message?.content).toMatchObject([{ type: 'input_image', image_url: DATA_URL }]);
  });

  it('are accepted in the output of a function', async () => {
    const items = (await seen([
      { role: 'user', content: 'draw' },
      { type: 'function_call', call_id: 'c', name: 'draw', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [text('done'), { type: 'input_image', image_url: DATA_URL, detail: 'high' }],
      },
    ])) as unknown[];
    expect(items[2]).toEqual({
      type: 'function_call_output',
      call_id: 'c',
      output: [text('done'), { type: 'input_image', image_url: DATA_URL, detail: 'high' }],
    });
  });

  it.each([
    ['is not there', () => `${imageUrl}/dog.png`],
    ['is not an image', () => 'data:image/png;base64,aGVsbG8='],
  ])('an image that %s is a 400 with its location', async (_, url) => {
    await expect(
      client.openai.responses.create({
        model: 'gpt-5.5',
        input: ask(text('look'), { type: 'input_image', image_url: url(), detail: 'auto' }),
      }),
    ).rejects.toMatchObject({
      status: 400,
      code: 'invalid_image',
      param: 'input[0].content[1]',
    });
  });
});

describe('audio', () => {
  it('is passed through', async () => {
    const [message] = (await seen([
      {
        role: 'user',
        content: [
          { type: 'input_audio', input_audio: { data: 'UklGRgAAAABXQVZF', format: 'wav' } },
        ] as unknown as ResponseInputContent[],
      },
    ])) as { content: unknown[] }[];
    expect(message?.content).toEqual([
      { type: 'input_audio', input_audio: { data: 'UklGRgAAAABXQVZF', format: 'wav' } },
    ]);
  });
});

describe('input that the app-server would silently drop or invent', () => {
  it.each([
    [
      'a call without its output',
      [{ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
      'No tool output found for function call c.',
      'input',
    ],
    [
      'an output without its call',
      [
        { role: 'user', content: 'x' },
        { type: 'function_call_output', call_id: 'c', output: '1' },
      ],
      'No tool call found for function call output with call_id c.',
      'input',
    ],
  ] as const)('%s is a 400', async (_, input, message, param) => {
    await expect(
      client.openai.responses.create({ model: 'gpt-5.5', input: input as unknown as ResponseInputItem[] }),
    ).rejects.toMatchObject({ status: 400, error: { message, param } });
  });
});

describe('input_tokens', () => {
  const count = async (body: InputTokenCountParams): Promise<number> => {
    const counted = await proxy.openai.responses.inputTokens.count(body);
    expect(counted).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
    return counted.input_tokens;
  };

  it('counts texts, instructions, tools and images, without a model request', async () => {
    const before = proxy.model.requests.length;
    const base = { model: 'gpt-5.5', input: 'Tell me a joke.' };
    const withImage = [
      {
        role: 'user' as const,
        content: [{ type: 'input_image' as const, image_url: DATA_URL, detail: 'auto' as const }],
      },
    ];
    expect([
      await count(base),
      await count({ ...base, model: null }),
      await count({ ...base, instructions: 'Be kind.' }),
      await count({ model: 'gpt-5.5', instructions: 'Be kind.' }),
      await count({ model: 'gpt-5.5', input: withImage }),
    ]).toEqual([11, 11, 18, 9, 7]);
    const tool = { type: 'function' as const, name: 'look', strict: false, parameters: { type: 'object' } };
    expect(await count({ ...base, tools: [tool] })).toBeGreaterThan(19);
    expect(proxy.model.requests.length).toBe(before);
  });

  it.each([
    ['an odd text', { input: 5 }, 'input', 'invalid_type'],
    [
      'an odd image',
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      'input[0].content[0]',
      'invalid_image',
    ],
    [
      'an unknown response',
      { input: 'x', previous_response_id: 'resp_1' },
      'previous_response_id',
      'previous_response_not_found',
    ],
    [
      'a broken schema',
      { input: 'x', text: { format: { type: 'json_schema', name: 'n', schema: { type: 7 } } } },
      'text.format.schema',
      'invalid_json_schema',
    ],
  ])('rejects %s like the creation of a response', async (_, body, param, code) => {
    const answers = await Promise.all(
      ['/v1/responses', '/v1/responses/input_tokens'].map(async (path) => {
        const answer = await proxy.post(path, { model: 'gpt-5.5', ...body });
        return [answer.status, await answer.json()];
      }),
    );
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[1]).toMatchObject([400, { error: { param, code } }]);
  });
});
