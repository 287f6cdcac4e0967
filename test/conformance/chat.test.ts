import { APIUserAbortError, RateLimitError } from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import {
  commentaryThenFinal,
  cutMidStream,
  emptyAnswer,
  hang,
  hello,
  http429,
  incompleteMaxTokens,
  noUsage,
  reasoningThenText,
  refusal,
  says,
  slow,
} from '../support/scripts.ts';
import { itemsOf } from '../clients/rounds.ts';
import { ask, failureOf, HELLO, untilIdle, USAGE } from './chat-ask.ts';
import { openCheckedChat } from './chat-checked.ts';

/** OpenAI's own SDK against the whole product, through `/v1/chat/completions`. */

const { proxy, client } = await openCheckedChat(hello);

describe('create', () => {
  it('returns a complete completion', async () => {
    proxy.use(hello);
    await client.openai.chat.completions.create(ask);
    expect(JSON.parse(client.lastText())).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{32}$/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'gpt-5.5',
      service_tier: 'default',
      system_fingerprint: 'fp_codex_app_server',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: HELLO, refusal: null, annotations: [] },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: USAGE,
    });
  });

  it.each([
    ['a system prompt', [{ role: 'system', content: 'Say hello.' }], ['system']],
    [
      'a call and its output',
      [
        {
          role: 'assistant',
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'seen' },
      ],
      ['function_call', 'function_call_output'],
    ],
  ] as const)('accepts %s alone, with top_p 0', async (_, messages, kinds) => {
    proxy.use(hello);
    const { choices } = await client.openai.chat.completions.create({
      model: 'gpt-5.5',
      top_p: 0,
      messages: messages.map((message) => ({ ...message })) as ChatCompletionMessageParam[],
    });
    expect(choices[0]?.message.content).toBe(HELLO);
    const sent = proxy.model.requests.at(-1)?.body;
    expect([itemsOf(sent ?? {}).map((item) => item['role'] ?? item['type']), sent?.['top_p']]).toEqual([
      kinds,
      0,
    ]);
  });

  it('joins commentary and answer with a blank line', async () => {
    proxy.use(commentaryThenFinal);
    const { choices } = await client.openai.chat.completions.create(ask);
    expect(choices[0]?.message.content).toBe('Let me have a look.\n\nHere it is.');
  });

  it('returns a refusal, an empty answer, and an answer without usage', async () => {
    proxy.use(refusal);
    const refused = await client.openai.chat.completions.create(ask);
    expect(refused.choices[0]?.message).toEqual({
      role: 'assistant',
      content: null,
      refusal: 'I will not help with that.',
      annotations: [],
    });
    proxy.use(emptyAnswer);
    const empty = await client.openai.chat.completions.create(ask);
    expect(empty.choices[0]?.message).toEqual({
      role: 'assistant',
      content: '',
      refusal: null,
      annotations: [],
    });
    proxy.use(noUsage);
    const uncounted = await client.openai.chat.completions.create(ask);
    expect('usage' in uncounted).toBe(false);
  });

  it('includes the reasoning summary if requested', async () => {
    proxy.use(reasoningThenText);
    const reasoning: object = { reasoning: { summary: 'auto' } };
    const { choices } = await client.openai.chat.completions.create({ ...ask, ...reasoning });
    expect(choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'The answer is 42.',
      annotations: [],
      refusal: null,
      reasoning_content: '**Looking**\n\nAt the question.\n\n**Deciding**\n\nOn the answer.',
      reasoning: '**Looking**\n\nAt the question.\n\n**Deciding**\n\nOn the answer.',
    });
  });

  it('reports length for a truncated answer', async () => {
    proxy.use(incompleteMaxTokens);
    const { choices } = await client.openai.chat.completions.create(ask);
    expect(choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: 'This answer was cut' },
    });
  });

  it('names ignored parameters, and forwards those that the backend accepts', async () => {
    proxy.use(hello);
    await client.openai.chat.completions.create({
      ...ask,
      temperature: 0.25,
      seed: 7,
      user: 'ann',
      logit_bias: { '5': 1 },
      store: true,
    });
    expect(client.lastHeader('x-proxy-ignored-params')).toBe('logit_bias');
    expect(proxy.model.requests.at(-1)?.body).toMatchObject({ temperature: 0.25, seed: 7, user: 'ann' });
  });
});

describe('parse', () => {
  it('parses a structured answer, even after commentary', async () => {
    proxy.use(says([{ text: 'Thinking.', phase: 'commentary' }, { text: '{"city":"Oslo"}' }]));
    const format = zodResponseFormat(z.object({ city: z.string() }), 'place');
    const { choices } = await client.openai.chat.completions.parse({ ...ask, response_format: format });
    expect(choices[0]?.message.parsed).toEqual({ city: 'Oslo' });
    expect(proxy.model.requests.at(-1)?.body['text']).toMatchObject({
      format: { type: 'json_schema', name: 'place', strict: true },
    });
  });
});

describe('stream', () => {
  it('is assembled by the SDK to the JSON answer', async () => {
    // Without reasoning: the SDK keeps only the last delta of fields that it does not know.
    for (const script of [hello, commentaryThenFinal, refusal, incompleteMaxTokens]) {
      proxy.use(script);
      const stream = client.openai.chat.completions.stream(ask);
      const streamed = await stream.finalChatCompletion();
      const whole = await client.openai.chat.completions.create(ask);
      // A stream has annotations only if there are some.
      const plain = (message: object | undefined) => ({ annotations: [], ...message, parsed: undefined });
      expect(plain(streamed.choices[0]?.message)).toEqual(plain(whole.choices[0]?.message));
      expect(streamed.choices[0]?.finish_reason).toBe(whole.choices[0]?.finish_reason);
    }
  });

  it('sends the usage last, if requested', async () => {
    proxy.use(hello);
    const stream = await client.openai.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    const usages: unknown[] = [];
    for await (const chunk of stream) usages.push(chunk.choices.length === 0 ? chunk.usage : 'text');
    expect(new Set(usages)).toEqual(new Set(['text', USAGE]));
    expect(usages.at(-1)).toEqual(USAGE);
    expect(client.lastText().endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('reports an error in the middle, and ends', async () => {
    proxy.use(cutMidStream);
    const failed = await failureOf(
      client.openai.chat.completions.stream({ ...ask, stream: true }).finalChatCompletion(),
    );
    expect(failed.code).toBe('upstream_error');
    expect(client.lastText()).toContain('data: {"error":{"message":');
  });

  it('is aborted by the client, together with the model request', async () => {
    proxy.use(slow(50));
    const stream = await client.openai.chat.completions.create({ ...ask, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await untilIdle(proxy);
    expect(proxy.model.requests.at(-1)?.aborted).toBe(true);
  });

  it('can be aborted while the model is silent', async () => {
    proxy.use(hang);
    const controller = new AbortController();
    const promise = client.openai.chat.completions.create(ask, { signal: controller.signal });
    while (proxy.model.activeRequests() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort();
    await expect(promise).rejects.toBeInstanceOf(APIUserAbortError);
    await untilIdle(proxy);
    expect(proxy.model.requests.at(-1)?.aborted).toBe(true);
  });
});

describe('errors', () => {
  it("have the SDK's error types", async () => {
    proxy.use(http429(7));
    const limited = await failureOf(client.openai.chat.completions.create(ask));
    expect(limited).toBeInstanceOf(RateLimitError);
    expect([limited.status, limited.code, limited.headers?.get('retry-after')]).toEqual([
      429,
      'rate_limit_exceeded',
      '7',
    ]);
    const bad = await failureOf(
      client.openai.chat.completions.create({ ...ask, messages: [{ role: 'user', content: [] }] }),
    );
    expect([bad.status, bad.code, bad.param]).toEqual([400, 'empty_array', 'messages[0].content']);
    const schema = { type: 'nonsense' };
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } } as const;
    const invalid = await failureOf(
      client.openai.chat.completions.create({ ...ask, response_format: format }),
    );
    expect([invalid.status, invalid.code, invalid.param]).toEqual([
      400,
      'invalid_json_schema',
      'response_format.json_schema.schema',
    ]);
  });
});
