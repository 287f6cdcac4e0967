import { beforeEach, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { byModel, failed, hang, HELLO_USAGE, hello, http400, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { openChecked } from './responses-checked.ts';

/** The requests with which Obsidian Copilot and opencode name a conversation. */

const { proxy, client } = await openChecked(
  hello,
  {},
  {
    models: {
      object: 'list',
      data: ['acme/large', 'acme/mini', 'acme/embed-nano', 'acme/middle'].map((id) => ({
        id,
        object: 'model',
      })),
    },
  },
);

const TITLE =
  'Generate a concise title (max 5 words) for this conversation based on its content. Return only the title without any explanation or quotes.\n\nConversation:\nuser: hi';
const SUMMARY =
  'Your task is to analyze a conversation and generate both a title and a summary.\n\n# OUTPUT FORMAT\n…\n\n# RULES\n* Use the same language as the conversation';
const CONVERSATION =
  '<conversation_text>\nuser: hi\n</conversation_text>\n\nGenerate a title and summary for this conversation:';
const THREAD =
  'You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>\n…\n</task>\n\n<examples>\n…\n</examples>\n';

const user = (content: string) => ({ role: 'user' as const, content });

const ASKS = {
  title: [user(TITLE)],
  'title-and-summary': [{ role: 'developer' as const, content: SUMMARY }, user(CONVERSATION)],
  'thread-title': [
    { role: 'developer' as const, content: THREAD },
    user('Generate a title for this conversation:\n'),
    user('hi'),
  ],
};
type Kind = keyof typeof ASKS;

/** The headers that identify the client of each. */
const COPILOT = { headers: { 'dangerously-allow-browser': 'true' } };
const OPENCODE = { headers: { 'user-agent': 'opencode/1.18.2' } };
const SENDERS: Readonly<Record<Kind, typeof COPILOT | typeof OPENCODE>> = {
  title: COPILOT,
  'title-and-summary': COPILOT,
  'thread-title': OPENCODE,
};

const WRITTEN: Readonly<Record<Kind, string>> = {
  title: '# **"Cats and dogs"**\n\nI hope that this helps.',
  'title-and-summary': '```json\n{ "title": "Cats", "summary": "They purr." }\n```',
  'thread-title': 'Understanding asynchronous iteration and generators in JavaScript',
};
const WANTED: Readonly<Record<Kind, string>> = {
  title: 'Cats and dogs',
  'title-and-summary': '{"title":"Cats","summary":"They purr."}',
  'thread-title': 'Understanding asynchronous iteration and',
};

const USAGE = { ...HELLO_USAGE, outputTokens: 3, totalTokens: 14 };
/** The small model answers with this text; all others say hello. */
const small = (text: string) => byModel({ 'acme/mini': says([{ text }], { usage: USAGE }) }, hello);
const ORDINARY = 'Hello from the scripted model.';

/** The model requests since the test began. */
const sent = (): readonly JsonObject[] => proxy.model.requests.slice(before).map(({ body }) => body);
const sentModels = (): readonly unknown[] => sent().map(({ model }) => model);
let before = 0;
beforeEach(() => {
  before = proxy.model.requests.length;
});

const counted = async (kind: Kind, result: string): Promise<number> => {
  const page = await (await proxy.get('/metrics')).text();
  const line = page
    .split('\n')
    .find((one) => one.startsWith(`proxy_side_requests_total{kind="${kind}",result="${result}"}`));
  return Number(line?.split(' ').at(-1) ?? 0);
};

/** Sends a request in all four ways, and returns the answers. */
const everyWay = async (kind: Kind) => {
  const { responses } = client.openai;
  const { completions } = proxy.openai.chat;
  const model = 'acme/large';
  const input = ASKS[kind];
  const sender = SENDERS[kind];
  const { data: response, response: answered } = await responses
    .create({ model, input }, sender)
    .withResponse();
  const streaming = await responses.create({ model, input, stream: true }, sender).withResponse();
  const events = await Array.fromAsync(streaming.data);
  const completion = await completions.create({ model, messages: input }, sender);
  const chunks = await Array.fromAsync(
    await completions.create(
      { model, messages: input, stream: true, stream_options: { include_usage: true } },
      sender,
    ),
  );
  const last = events.at(-1);
  const ended = last?.type === 'response.completed' ? last.response : null;
  return {
    texts: [
      response.output_text,
      events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join(''),
      completion.choices[0]?.message.content,
      chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''),
    ],
    served: [answered, streaming.response].map(({ headers }) => headers.get('x-proxy-served-model')),
    models: [response.model, ended?.model, completion.model, ...chunks.map((chunk) => chunk.model)],
    outputs: [
      response.usage?.output_tokens,
      ended?.usage?.output_tokens,
      completion.usage?.completion_tokens,
    ],
    lastOutput: chunks.at(-1)?.usage?.completion_tokens,
  };
};

describe('a title request', () => {
  it.each<Kind>(['title', 'title-and-summary', 'thread-title'])(
    '%s is answered by the smallest model at low effort, on both APIs, stream and JSON',
    async (kind) => {
      proxy.use(small(WRITTEN[kind]));
      const count = await counted(kind, 'answered');
      const { texts, served, models, outputs, lastOutput } = await everyWay(kind);
      expect(new Set(texts)).toEqual(new Set([WANTED[kind]]));
      // The requested model name, and the actual usage.
      expect(new Set(models)).toEqual(new Set(['acme/large']));
      expect(served).toEqual(['acme/mini', 'acme/mini']);
      expect([...outputs, lastOutput]).toEqual([3, 3, 3, 3]);
      expect(sent().map(({ model, reasoning }) => [model, reasoning])).toEqual(
        Array.from({ length: 4 }, () => ['acme/mini', { effort: 'low' }]),
      );
      expect(await counted(kind, 'answered')).toBe(count + 4);
      expect(proxy.log.find(({ intercept }) => intercept === kind)).toMatchObject({ msg: 'request' });
    },
  );

  it('ignores images, and names parameters without effect', async () => {
    proxy.use(small('Cats'));
    const asking = proxy.openai.chat.completions.create(
      {
        model: 'acme/large-high',
        reasoning_effort: 'high',
        messages: [
          { role: 'system', content: THREAD },
          user('Generate a title for this conversation:\n'),
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image_url', image_url: { url: 'http://127.0.0.1:1/cat.png' } },
            ],
          },
        ],
      },
      OPENCODE,
    );
    const answer = await asking.asResponse();
    expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([
      200,
      'reasoning_effort, messages[2].content[1]',
    ]);
    expect(JSON.stringify(sent()[0]?.['input'])).toContain('[image]');
    await answer.text();
  });

  it('is retried without an effort if the model supports none', async () => {
    proxy.use(inTurn(http400("Unsupported parameter: 'reasoning.effort'."), small('Cats')));
    const { output_text: text } = await client.openai.responses.create(
      { model: 'acme/large', input: TITLE },
      COPILOT,
    );
    expect([text, sent().map(({ reasoning }) => reasoning)]).toEqual([
      'Cats',
      [{ effort: 'low' }, undefined],
    ]);
  });
});

describe('the requested turn', () => {
  const { responses } = client.openai;

  it.each([
    ['fails', 'failed', failed()],
    ['is refused', 'failed', http400('No.', null, null)],
    ['says nothing', 'unusable', says([{ text: ' ' }])],
    ['is not JSON', 'unusable', says([{ text: 'Cats, and that they purr.' }])],
  ])('follows if the short one %s', async (_, result, script) => {
    proxy.use(byModel({ 'acme/mini': script }, hello));
    const count = await counted('title-and-summary', result);
    const input = ASKS['title-and-summary'];
    const response = await responses.create({ model: 'acme/large-codev-h', input }, COPILOT);
    const events = await Array.fromAsync(
      await responses.create({ model: 'acme/large-codev-h', input, stream: true }, COPILOT),
    );
    expect([response.output_text, response.usage?.output_tokens, events.at(-1)?.type]).toEqual([
      ORDINARY,
      HELLO_USAGE.outputTokens,
      'response.completed',
    ]);
    expect(sentModels()).toEqual(['acme/mini', 'acme/large', 'acme/mini', 'acme/large']);
    expect(sent().at(-1)?.['reasoning']).toEqual({ effort: 'high' });
    expect(await counted('title-and-summary', result)).toBe(count + 2);
  });

  it('fails as it would without a short one', async () => {
    proxy.use(http400('No such thing.', 'temperature', 'invalid_value'));
    await expect(responses.create({ model: 'acme/large', input: TITLE }, COPILOT)).rejects.toMatchObject({
      status: 400,
      param: 'temperature',
    });
    expect(sentModels()).toEqual(['acme/mini', 'acme/large']);
  });

  it('is used for requests that only resemble a title request', async () => {
    proxy.use(small('Cats'));
    const tool = { type: 'function' as const, name: 'look', strict: false, parameters: { type: 'object' } };
    const model = 'acme/large';
    for (const ask of [
      { input: TITLE, tools: [tool] },
      { input: `Please: ${TITLE}` },
      {
        input:
          'Generate a concise title (max 5 words) for this conversation, and then write 300 words about it.',
      },
      { input: [user('hi'), { role: 'assistant' as const, content: 'hi' }, user(TITLE)] },
      { input: 'Write three queries for this question: hi', instructions: 'You expand queries.' },
    ]) {
      const answered = await responses.create({ model, ...ask }, COPILOT).withResponse();
      expect([answered.data.output_text, answered.response.headers.has('x-proxy-served-model')]).toEqual([
        ORDINARY,
        false,
      ]);
    }
    // A client that is not known to send title requests.
    expect((await responses.create({ model, input: TITLE })).output_text).toBe(ORDINARY);
    const both = await proxy.openai.chat.completions.create(
      { model, messages: [user(TITLE)], n: 2 },
      COPILOT,
    );
    expect(both.choices.map(({ message }) => message.content)).toEqual([ORDINARY, ORDINARY]);
    const old = await proxy.openai.completions.create({ model, prompt: TITLE }, COPILOT);
    expect(old.choices[0]?.text).toBe(ORDINARY);
    expect(new Set(sentModels())).toEqual(new Set([model]));
  });

  it('is used when a conversation is compacted', async () => {
    proxy.use(small('Cats'));
    await proxy.openai.responses.compact({ model: 'acme/large', input: TITLE }, COPILOT);
    expect(sentModels()).toEqual(['acme/large']);
  });

  it('is not run for a client that has disconnected', async () => {
    proxy.use(byModel({ 'acme/mini': hang }, hello));
    const count = await counted('title', 'abandoned');
    const gone = new AbortController();
    const asking = proxy.openai.responses.create(
      { model: 'acme/large', input: TITLE },
      { ...COPILOT, signal: gone.signal },
    );
    await until(() => sent().length === 1);
    gone.abort();
    await expect(asking).rejects.toThrow('aborted');
    await until(async () => (await counted('title', 'abandoned')) === count + 1);
    await until(() => proxy.model.activeRequests() === 0);
    expect(sentModels()).toEqual(['acme/mini']);
  });
});
