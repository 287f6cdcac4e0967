import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { itemsOf, textOf } from '../clients/rounds.ts';
import { hang, hello, http429, inTurn, says, slow } from '../support/scripts.ts';
import { ask, failureOf, HELLO, untilIdle, USAGE } from './chat-ask.ts';
import { openCheckedChat } from './chat-checked.ts';

/** OpenAI's own SDK: several choices, stop sequences, legacy completions, and unsupported endpoints. */

const { proxy, client } = await openCheckedChat(hello);

/** A model that repeats its input. */
const repeats: Script = ({ body }, connection) => {
  const last = itemsOf(body).at(-1)?.['content'];
  return answer(connection, [{ text: `${textOf(last)}!` }]);
};

const ZERO = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  totalTokens: 0,
};

describe('stop', () => {
  it('cuts before the stop text, interrupts the model, and reports stop', async () => {
    // A model that never stops by itself.
    proxy.use(says([{ text: 'one two three four five', end: 'open' }, { hang: true }]));
    const { choices, usage } = await client.openai.chat.completions.create({
      ...ask,
      stop: ['hree f', 'never'],
    });
    // The client received "one two t", so that is counted.
    expect([usage?.completion_tokens, usage?.total_tokens]).toEqual([3, 3 + (usage?.prompt_tokens ?? 0)]);
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'one two t' } });
    await untilIdle(proxy);
    expect(proxy.model.requests.at(-1)?.aborted).toBe(true);
  });
});

describe('n', () => {
  const texts = ['first', 'second', 'third'].map((text) =>
    says([{ text, delayMs: 5 }], { usage: { ...ZERO, outputTokens: text.length } }),
  );
  const three = () => inTurn(texts[0] ?? hello, texts[1] ?? hello, texts[2] ?? hello);

  it('returns choices by index and sums the usage', async () => {
    proxy.use(three());
    const { choices, usage } = await client.openai.chat.completions.create({ ...ask, n: 3 });
    expect(choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(new Set(choices.map((choice) => choice.message.content))).toEqual(
      new Set(['first', 'second', 'third']),
    );
    expect(usage?.completion_tokens).toBe('firstsecondthird'.length);
  });

  it('streams choices in parallel', async () => {
    proxy.use(three());
    const stream = client.openai.chat.completions.stream({
      ...ask,
      n: 3,
      stream_options: { include_usage: true },
    });
    const { choices, usage } = await stream.finalChatCompletion();
    expect(choices.map((choice) => [choice.index, choice.finish_reason])).toEqual([
      [0, 'stop'],
      [1, 'stop'],
      [2, 'stop'],
    ]);
    expect(new Set(choices.map((choice) => choice.message.content))).toEqual(
      new Set(['first', 'second', 'third']),
    );
    expect(usage?.completion_tokens).toBe('firstsecondthird'.length);
  });

  it('fails completely if one choice fails, and cancels the others', async () => {
    proxy.use(inTurn(hang, http429(), hang));
    const failed = await failureOf(client.openai.chat.completions.create({ ...ask, n: 3 }));
    expect(failed.status).toBe(429);
    await untilIdle(proxy);
    expect(proxy.model.activeRequests()).toBe(0);
  });

  it('cancels all choices when the client disconnects', async () => {
    proxy.use(slow(50));
    const stream = await client.openai.chat.completions.create({ ...ask, n: 3, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await untilIdle(proxy);
    expect(proxy.model.requests.slice(-3).map((request) => request.aborted)).toEqual([true, true, true]);
  });
});

describe('completions', () => {
  it('answers a prompt with text, as JSON and in chunks', async () => {
    proxy.use(hello);
    const whole = await client.openai.completions.create({ model: 'gpt-5.5', prompt: 'hi' });
    expect(whole).toEqual({
      id: expect.stringMatching(/^cmpl-[0-9a-f]{32}$/),
      object: 'text_completion',
      created: expect.any(Number),
      model: 'gpt-5.5',
      system_fingerprint: 'fp_codex_app_server',
      choices: [{ index: 0, text: HELLO, logprobs: null, finish_reason: 'stop' }],
      usage: USAGE,
    });
    const stream = await client.openai.completions.create({
      model: 'gpt-5.5',
      prompt: ['hi'],
      stream: true,
    });
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    expect(text).toBe(HELLO);
  });

  it('answers several text or token prompts in their order', async () => {
    proxy.use(repeats);
    const asked = { model: 'gpt-5.5', prompt: ['one', 'two', 'three'], n: 2, echo: true };
    const expected = ['one', 'one', 'two', 'two', 'three', 'three'].map((text) => `${text}${text}!`);
    const whole = await client.openai.completions.create(asked);
    expect(whole.choices.map(({ index, text }) => [index, text])).toEqual([...expected.entries()]);
    const streamed: string[] = [];
    for await (const chunk of await client.openai.completions.create({ ...asked, stream: true })) {
      for (const { index, text } of chunk.choices) streamed[index] = (streamed[index] ?? '') + text;
    }
    expect(streamed).toEqual(expected);
    const ofTokens = await client.openai.completions.create({
      model: 'gpt-5.5',
      prompt: [encode('漢字'), encode('Hello world')],
    });
    expect(ofTokens.choices.map(({ text }) => text)).toEqual(['漢字!', 'Hello world!']);
    const one = await client.openai.completions.create({ model: 'gpt-5.5', prompt: encode('alone') });
    expect(one.choices.map(({ text }) => text)).toEqual(['alone!']);
    await untilIdle(proxy);
  });

  it('decodes tokens in the encoding of the requested model', async () => {
    proxy.use(repeats);
    const { choices } = await client.openai.completions.create({
      model: 'gpt-3.5-turbo-instruct',
      prompt: [15339, 1917],
    });
    expect(choices.map(({ text }) => text)).toEqual(['hello world!']);
  });

  it.each([
    ['nothing', false, ''],
    ['its prompt', true, 'hello world'],
  ])('returns %s for zero output tokens without a model request', async (_, echo, text) => {
    const before = proxy.model.requests.length;
    const asked = { model: 'gpt-5.5', prompt: 'hello world', max_tokens: 0, echo };
    const { data, response } = await client.openai.completions.create(asked).withResponse();
    const counted = { prompt_tokens: 8, completion_tokens: 0, total_tokens: 8 };
    expect([data.choices, response.headers.get('x-proxy-usage')]).toEqual([
      [{ index: 0, text, logprobs: null, finish_reason: 'length' }],
      'counted',
    ]);
    expect(data.usage).toMatchObject(counted);
    const chunks: string[] = [];
    const stream = await client.openai.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    let last: unknown;
    for await (const chunk of stream) {
      chunks.push(...chunk.choices.map((one) => one.text));
      last = chunk.usage;
    }
    expect([chunks.join(''), proxy.model.requests.length]).toEqual([text, before]);
    expect(last).toMatchObject(counted);
  });

  it('names the invalid prompt', async () => {
    const error = await failureOf(
      client.openai.completions.create({ model: 'gpt-5.5', prompt: [[1], [199_999]] }),
    );
    expect(error).toMatchObject({ status: 400, code: 'invalid_value', param: 'prompt[1]' });
  });
});

describe('unsupported endpoints', () => {
  it.each(['/v1/images/variations', '/v1/audio/speech', '/v1/audio/translations'])(
    '%s is rejected at once',
    async (path) => {
      const response = await proxy.post(path, { input: 'x' });
      expect([response.status, await response.json()]).toEqual([
        404,
        {
          error: {
            message: `POST ${path} is not supported. Supported endpoints: POST /v1/responses, POST /v1/responses/compact, POST /v1/chat/completions, POST /v1/messages, POST /v1/completions, POST /v1/codex/reviews, POST /v1/images/generations, POST /v1/images/edits, POST /v1/responses/input_tokens, POST /v1/messages/count_tokens, GET /v1/models.`,
            type: 'invalid_request_error',
            param: null,
            code: 'endpoint_not_supported',
          },
        },
      ]);
    },
  );

  it.each([
    ['/v1/embeddings', 'PROXY_EMBEDDINGS_BASE_URL=http://127.0.0.1:11434/v1'],
    ['/v1/audio/transcriptions', 'PROXY_TRANSCRIPTIONS_BASE_URL=https://api.openai.com/v1'],
  ])('%s names the setting that it needs', async (path, setting) => {
    const response = await proxy.post(path, { input: 'x' });
    expect([response.status, await response.json()]).toEqual([
      404,
      {
        error: {
          message: `POST ${path} needs a second provider, and none is configured. On the server, set its base URL, for example ${setting}. See docs/embeddings.md.`,
          type: 'invalid_request_error',
          param: null,
          code: 'endpoint_not_supported',
        },
      },
    ]);
  });

  it('still require the API key', async () => {
    const response = await fetch(`${proxy.url}/v1/embeddings`, { method: 'POST' });
    expect(response.status).toBe(401);
  });
});
