import { describe, expect, it } from 'vitest';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import {
  commentaryThenFinal,
  hello,
  incompleteMaxTokens,
  inTurn,
  noUsage,
  says,
  slow,
} from '../support/scripts.ts';
import { openChecked } from './responses-checked.ts';

/** OpenAI's own SDK against the whole product: text, streams, formats, limits. */

const { proxy, client } = await openChecked(hello);

const HELLO = 'Hello from the scripted model.';
const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 1 },
  total_tokens: 18,
};

describe('responses.create', () => {
  it('returns the complete response object', async () => {
    proxy.use(hello);
    const response = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi' });
    expect(response.output_text).toBe(HELLO);
    expect(response._request_id).toMatch(/^req_/);
    expect(client.lastBody()).toEqual({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: 'response',
      created_at: expect.any(Number),
      created: response.created_at,
      completed_at: expect.any(Number),
      status: 'completed',
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      model: 'gpt-5.5',
      output: [
        {
          id: expect.stringMatching(/^msg_/),
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', annotations: [], logprobs: [], text: HELLO }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      background: false,
      temperature: 1,
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_logprobs: 0,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'auto',
      tools: [],
      truncation: 'disabled',
      usage: USAGE,
      metadata: {},
    });
  });

  it('echoes parameters that do not affect the answer', async () => {
    proxy.use(hello);
    const echoed = {
      instructions: 'Be brief.',
      metadata: { order: '4711', note: '' },
      user: 'user-1',
      safety_identifier: 'hash-1',
      prompt_cache_key: 'conversation-1',
      max_tool_calls: 3,
    };
    const response = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi', ...echoed });
    expect(response).toMatchObject(echoed);
  });

  it('has no usage if the upstream reports none', async () => {
    proxy.use(noUsage);
    const response = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi' });
    expect(response.usage).toBeNull();
  });

  it('reports that the model stopped early', async () => {
    proxy.use(incompleteMaxTokens);
    const { status, incomplete_details, output_text, completed_at } = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: 'hi',
    });
    expect({ status, incomplete_details, output_text, completed_at }).toEqual({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'This answer was cut',
      completed_at: null,
    });
  });

  it('returns commentary and the final answer as two messages with their phase', async () => {
    proxy.use(commentaryThenFinal);
    const { output } = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi' });
    expect(output).toMatchObject([
      { type: 'message', phase: 'commentary', content: [{ text: 'Let me have a look.' }] },
      { type: 'message', phase: 'final_answer', content: [{ text: 'Here it is.' }] },
    ]);
    expect(output).toHaveLength(2);
  });

  it('accepts an alias for a model with an effort', async () => {
    proxy.use(hello);
    const response = await client.openai.responses.create({ model: 'gpt-5.5-high', input: 'hi' });
    const sent = proxy.model.requests.at(-1)?.body;
    expect([response.model, response.reasoning, sent?.['model'], sent?.['reasoning']]).toEqual([
      'gpt-5.5-high',
      { effort: 'high', summary: null },
      'gpt-5.5',
      { effort: 'high' },
    ]);
  });
});

describe('responses.create with stream', () => {
  it('sends the events of a text answer in order', async () => {
    proxy.use(says([{ text: 'one two', deltas: ['one', ' two'] }]));
    const stream = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi', stream: true });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
  });

  it('gives the same answer as without stream', async () => {
    proxy.use(hello);
    const ask = { model: 'gpt-5.5', input: 'hi', metadata: { a: 'b' } } as const;
    const whole = await client.openai.responses.create(ask);
    const stream = await client.openai.responses.create({ ...ask, stream: true });
    const last = (await Array.fromAsync(stream)).at(-1);
    const response = last?.type === 'response.completed' ? last.response : null;
    const same = { id: 'same', created_at: 0, created: 0, completed_at: 0 };
    const output = [{ ...whole.output[0], id: 'same' }];
    expect({ ...response, ...same, output: [{ ...response?.output[0], id: 'same' }] }).toEqual({
      ...(JSON.parse(JSON.stringify(whole)) as object),
      ...same,
      output,
      // The SDK adds this field, to JSON answers only.
      output_text: undefined,
    });
  });

  it('ends with an incomplete response when the model stopped early', async () => {
    proxy.use(incompleteMaxTokens);
    const stream = await client.openai.responses.create({ model: 'gpt-5.5', input: 'hi', stream: true });
    const last = (await Array.fromAsync(stream)).at(-1);
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    });
  });
});

describe('responses.stream', () => {
  it("works with the SDK's stream helper", async () => {
    proxy.use(slow(5));
    const stream = client.openai.responses.stream({ model: 'gpt-5.5', input: 'hi' });
    const snapshots: string[] = [];
    stream.on('response.output_text.delta', (event) => snapshots.push(event.snapshot));
    const final = await stream.finalResponse();
    expect(snapshots).toEqual([
      'one ',
      'one two ',
      'one two three ',
      'one two three four ',
      'one two three four five',
    ]);
    expect([final.status, final.output_text]).toEqual(['completed', 'one two three four five']);
  });
});

describe('structured output', () => {
  const Person = z.object({ name: z.string(), age: z.number() });

  it('parses an answer with a zod format', async () => {
    proxy.use(says([{ text: '{"name":"Ada","age":36}' }]));
    const response = await client.openai.responses.parse({
      model: 'gpt-5.5',
      input: 'who?',
      text: { format: zodTextFormat(Person, 'person') },
    });
    expect(response.output_parsed).toEqual({ name: 'Ada', age: 36 });
    expect(response.text?.format).toMatchObject({ type: 'json_schema', name: 'person', strict: true });
    expect(proxy.model.requests.at(-1)?.body['text']).toMatchObject({
      format: {
        type: 'json_schema',
        schema: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'number' } } },
      },
    });
  });

  it('is parsed in a stream too', async () => {
    proxy.use(says([{ text: '{"name":"Ada","age":36}', chunkSize: 4 }]));
    const stream = client.openai.responses.stream({
      model: 'gpt-5.5',
      input: 'who?',
      text: { format: zodTextFormat(Person, 'person') },
    });
    expect((await stream.finalResponse()).output_parsed).toEqual({ name: 'Ada', age: 36 });
  });

  it('returns an answer that violates its format, and logs it', async () => {
    proxy.use(says([{ text: '{"name":"Ada"}' }]));
    const response = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: 'who?',
      text: { format: zodTextFormat(Person, 'person') },
    });
    expect(response.output_text).toBe('{"name":"Ada"}');
    // The check runs after the answer is sent.
    const lines = () =>
      proxy.log
        .filter((line) => line['requestId'] === response._request_id)
        .map((line) => `${String(line['level'])} ${String(line['msg'])}`);
    await expect.poll(() => lines()).toHaveLength(2);
    expect(lines().toSorted()).toEqual([
      'info request',
      'warn the answer does not match the requested format',
    ]);
  });

  it('accepts json_object', async () => {
    proxy.use(says([{ text: '{"any":1}' }]));
    const response = await client.openai.responses.create({
      model: 'gpt-5.5',
      input: 'JSON please',
      text: { format: { type: 'json_object' } },
    });
    expect([response.output_text, response.text?.format]).toEqual(['{"any":1}', { type: 'json_object' }]);
  });
});

it('a steered stream is complete', async () => {
  proxy.use(inTurn(says([{ text: 'One', end: 'open' }, { hang: true }]), hello));
  const stream = client.openai.responses.stream({ model: 'gpt-5.5', input: 'Count.' });
  const id = new Promise<string>((resolve) => {
    stream.on('response.created', ({ response }) => resolve(response.id));
  });
  await new Promise((resolve) => {
    stream.on('response.output_text.delta', resolve);
  });
  // Sent by another client: this one validates all answers against the schema of responses.
  await proxy.openai.post(`/responses/${await id}/steer`, { body: { input: 'Say hello.' } });
  expect((await stream.finalResponse()).output_text).toBe(`One${HELLO}`);
});
