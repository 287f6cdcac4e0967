import Anthropic, { APIUserAbortError } from '@anthropic-ai/sdk';
import type { ContentBlockParam, Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import {
  hello,
  HELLO_USAGE,
  hangMidStream,
  incompleteMaxTokens,
  inTurn,
  reasoningThenText,
  says,
} from '../support/scripts.ts';
import { FOUND, searches, SOURCE } from './hosted.ts';
import { itemsOf } from './rounds.ts';

/** Anthropic's own SDK with the real app-server. */

const proxy = await openProxy(hello);
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });

const MODEL = 'claude-opus-5-5';
const HELLO = 'Hello from the scripted model.';
const ask = (content: MessageParam['content'], more: object = {}) => ({
  model: MODEL,
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content }],
  ...more,
});
type Ask = ReturnType<typeof ask>;

/** The same request as JSON and as a stream. */
const WAYS: readonly (readonly [string, (body: Ask) => Promise<Message>])[] = [
  ['JSON', (body) => anthropic.messages.create(body)],
  ['a stream', (body) => anthropic.messages.stream(body).finalMessage()],
];
const sent = () => proxy.model.requests.map(({ body }) => body);
const newest = () => sent().at(-1) ?? {};

const USAGE = {
  input_tokens: HELLO_USAGE.inputTokens - HELLO_USAGE.cachedInputTokens - HELLO_USAGE.cacheWriteInputTokens,
  cache_read_input_tokens: HELLO_USAGE.cachedInputTokens,
  cache_creation_input_tokens: HELLO_USAGE.cacheWriteInputTokens,
  output_tokens: HELLO_USAGE.outputTokens,
};

describe.each(WAYS)('as %s', (_, create) => {
  it('answers with text and usage, under the name that was asked for', async () => {
    proxy.use(hello);
    expect(await create(ask('Hello?'))).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content: [{ type: 'text', text: HELLO }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: USAGE,
    });
  });

  it('keeps thinking over rounds of tools', async () => {
    proxy.use(
      inTurn(
        says([
          { reasoning: { id: 'rs_1', summary: ['Look.', 'Ask.'], encrypted: 'sealed-1' } },
          { reasoning: { id: 'rs_2', summary: [], encrypted: 'sealed-2' } },
          { call: { name: 'get_weather', arguments: '{ "city":"Paris"}', callId: 'call_1' } },
          { call: { name: 'get_weather', arguments: '{}', callId: 'call_2' } },
        ]),
        says([{ reasoning: { id: 'rs_3', summary: ['Say.'], encrypted: 'sealed-3' } }, { text: 'Rain.' }]),
        hello,
      ),
    );
    const more = { tools: [WEATHER], thinking: { type: 'adaptive', display: 'summarized' } };
    const first = await create(ask('Weather?', more));
    expect(first).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Look.\n\nAsk.' },
        { type: 'redacted_thinking' },
        { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Paris' } },
        { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
      ],
      stop_reason: 'tool_use',
    });
    const results: ContentBlockParam[] = [
      { type: 'tool_result', tool_use_id: 'call_2', content: 'Which city?', is_error: true },
      { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: 'Rain.' }] },
    ];
    const messages: MessageParam[] = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: first.content },
      { role: 'user', content: results },
    ];
    const second = await create({ ...ask('', more), messages } as Ask);
    expect(second).toMatchObject({
      content: [
        { type: 'thinking', thinking: 'Say.' },
        { type: 'text', text: 'Rain.' },
      ],
      stop_reason: 'end_turn',
    });
    const last: MessageParam[] = [
      { role: 'assistant', content: second.content },
      { role: 'user', content: 'Thanks.' },
    ];
    await create({ ...ask('', more), messages: [...messages, ...last] } as Ask);
    expect(itemsOf(newest())).toMatchObject([
      { role: 'user' },
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ text: 'Look.' }, { text: 'Ask.' }],
        encrypted_content: 'sealed-1',
      },
      { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed-2' },
      { type: 'function_call', call_id: 'call_1', arguments: '{ "city":"Paris"}' },
      { type: 'function_call', call_id: 'call_2', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'call_2',
        output: expect.stringMatching(/^Error: The tool call failed\.\n/),
      },
      { type: 'function_call_output', call_id: 'call_1' },
      { type: 'reasoning', id: 'rs_3', summary: [{ text: 'Say.' }], encrypted_content: 'sealed-3' },
      { role: 'assistant' },
      { role: 'user' },
    ]);
  });

  it('drops thinking that another service signed', async () => {
    proxy.use(hello);
    const foreign: ContentBlockParam[] = [
      { type: 'thinking', thinking: 'Hm.', signature: 'EpABCkgIBBABGAIiQ' },
      { type: 'redacted_thinking', data: 'EpABCkgIBBABGAIiQ' },
      { type: 'text', text: 'Yes.' },
    ];
    const messages: MessageParam[] = [
      { role: 'user', content: 'Are you there?' },
      { role: 'assistant', content: foreign },
      { role: 'user', content: 'Still?' },
    ];
    expect((await create({ ...ask(''), messages } as Ask)).content).toMatchObject([{ text: HELLO }]);
    expect(itemsOf(newest()).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('stops at a stop sequence', async () => {
    proxy.use(says([{ text: 'one two STOP three' }]));
    expect(await create(ask('Count.', { stop_sequences: ['STOP'] }))).toMatchObject({
      content: [{ type: 'text', text: 'one two ' }],
      stop_reason: 'stop_sequence',
      stop_sequence: 'STOP',
    });
  });

  it('says that the output limit was reached', async () => {
    proxy.use(incompleteMaxTokens);
    expect(await create(ask('Hello?'))).toMatchObject({
      content: [{ type: 'text', text: 'This answer was cut' }],
      stop_reason: 'max_tokens',
    });
  });

  it('shows a web search of the backend, and takes it back', async () => {
    proxy.use(searches);
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
    const { content } = await create(ask('Weather?', { tools }));
    expect(content).toMatchObject([
      { type: 'server_tool_use', name: 'web_search', input: { query: 'weather in Paris' } },
      { type: 'text', text: FOUND, citations: [{ url: SOURCE }] },
      // This backend reports the pages in the citations of the text only.
      { type: 'web_search_tool_result', content: [{ type: 'web_search_result', url: SOURCE }] },
    ]);
    const messages = [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content },
      { role: 'user', content: 'And now?' },
    ];
    await create({ ...ask('', { tools }), messages } as Ask);
    expect(itemsOf(newest())).toMatchObject([
      { role: 'user' },
      { type: 'web_search_call', action: { query: 'weather in Paris' } },
      { role: 'assistant' },
      { role: 'user' },
    ]);
  });
});

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } },
};

it('shows the model images and documents', async () => {
  proxy.use(hello);
  const content: ContentBlockParam[] = [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
    {
      type: 'document',
      title: 'Paper',
      source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQK' },
    },
    {
      type: 'document',
      title: 'Notes',
      source: { type: 'text', media_type: 'text/plain', data: 'Rain in Paris.' },
    },
    { type: 'text', text: 'What is this?' },
  ];
  await anthropic.messages.create(ask(content));
  expect(itemsOf(newest())).toMatchObject([
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` },
        { type: 'input_image', image_url: 'https://a.example/b.png' },
        { type: 'input_file', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
        { type: 'input_text', text: expect.stringMatching(/Notes[^]*Rain in Paris\./) },
        { type: 'input_text', text: 'What is this?' },
      ],
    },
  ]);
});

describe('the stream helper', () => {
  it('reports every delta', async () => {
    proxy.use(reasoningThenText);
    const [text, thinking, blocks, events] = [[''], [''], [] as string[], new Set<string>()];
    const message = await anthropic.messages
      .stream(ask('Hello?', { thinking: { type: 'adaptive', display: 'summarized' } }))
      .on('text', (delta) => void text.push(delta))
      .on('thinking', (delta) => void thinking.push(delta))
      .on('contentBlock', ({ type }) => void blocks.push(type))
      .on('streamEvent', ({ type }) => void events.add(type))
      .finalMessage();
    expect(text.join('')).toBe('The answer is 42.');
    expect(text.length).toBeGreaterThan(2);
    expect(thinking.join('')).toBe('**Looking**\n\nAt the question.\n\n**Deciding**\n\nOn the answer.');
    expect(blocks).toEqual(['thinking', 'text']);
    expect([...events]).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
  });

  it('begins with a count of the input, and ends with the usage of the backend', async () => {
    proxy.use(hello);
    const counts: number[] = [];
    const { usage } = await anthropic.messages
      .stream(ask('Hello?'))
      .on('streamEvent', (event) => {
        if (event.type === 'message_start') counts.push(event.message.usage.input_tokens);
      })
      .finalMessage();
    expect(counts).toEqual([expect.any(Number)]);
    expect(counts[0]).toBeGreaterThan(0);
    expect(usage).toMatchObject(USAGE);
  });

  it('has the input of a tool as it grows', async () => {
    const call = { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_1' };
    proxy.use(says([{ call, chunkSize: 4 }]));
    const inputs: unknown[] = [];
    await anthropic.messages
      .stream(ask('Weather?', { tools: [WEATHER] }))
      .on('inputJson', (_, snapshot) => void inputs.push(snapshot))
      .finalMessage();
    expect(inputs.length).toBeGreaterThan(2);
    expect(inputs.at(-1)).toEqual({ city: 'Paris' });
  });

  it('aborts, which ends the turn at the backend', async () => {
    proxy.use(hangMidStream);
    const stream = anthropic.messages.stream(ask('Hello?'));
    stream.once('text', () => stream.abort());
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(APIUserAbortError);
    await expect(proxy.model.requests.at(-1)?.ended).resolves.toBe('aborted');
  });
});

it('counts tokens without asking the model', async () => {
  const before = sent().length;
  const count = (content: string) =>
    anthropic.messages.countTokens({ model: MODEL, messages: [{ role: 'user', content }] });
  const [short, long] = await Promise.all([count('Hello?'), count('Hello? '.repeat(100))]);
  expect(short.input_tokens).toBeGreaterThan(0);
  expect(long.input_tokens).toBeGreaterThan(short.input_tokens + 100);
  const many = await Promise.all(Array.from({ length: 24 }, () => count('Hello?')));
  expect(new Set(many.map(({ input_tokens: tokens }) => tokens))).toEqual(new Set([short.input_tokens]));
  expect(sent()).toHaveLength(before);
});

it('lists models page by page, and finds each by its id', async () => {
  const all = (await anthropic.models.list({ limit: 1000 })).data;
  const paged = await Array.fromAsync(anthropic.models.list({ limit: 2 }));
  expect(paged).toEqual(all);
  expect(all.map(({ id }) => id)).toContain('claude-demo');
  const [first] = all;
  expect(await anthropic.models.retrieve(first?.id ?? '')).toMatchObject({ ...first });
});
