import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import { objectsIn, textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { itemsOf } from '../clients/rounds.ts';
import { openProxy } from '../support/open-proxy.ts';
import {
  cutMidStream,
  hello,
  incompleteMaxTokens,
  reasoningThenText,
  says,
  toolCall,
} from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';

/** Requests that continue a stored response. */

const KEYS = ['sk-test-key-0123456789', 'sk-other-key-0123456789'] as const;
const proxy = await openProxy(hello, { PROXY_API_KEY: KEYS.join(',') });
const { openai } = proxy;

const MODEL = 'gpt-5.5';
const TOOL = { type: 'function', name: 'get_weather', parameters: { type: 'object' } };

const create = async (body: JsonObject): Promise<JsonObject & { readonly id: string }> => {
  const response = await proxy.post('/v1/responses', { model: MODEL, ...body });
  expect(response.status).toBe(200);
  return (await response.json()) as JsonObject & { readonly id: string };
};

const refused = async (body: JsonObject, key: string = KEYS[0], at = '/v1/responses'): Promise<unknown> => {
  const headers = { authorization: `Bearer ${key}` };
  const response = await proxy.post(at, { model: MODEL, ...body }, { headers });
  return [response.status, ((await response.json()) as JsonObject)['error']];
};

const notFound = (id: string) => [
  400,
  {
    message: `Previous response with id '${id}' not found.`,
    type: 'invalid_request_error',
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  },
];

/** The texts that the model read last, by role. */
const sentTexts = (): readonly string[] =>
  itemsOf(proxy.model.requests.at(-1)?.body ?? {}).map((item) => {
    const [part] = objectsIn(item, 'content');
    return item['role'] === undefined
      ? textIn(item, 'type')
      : `${textIn(item, 'role')}: ${textIn(part ?? {}, 'text')}`;
  });

describe('a response that cannot be continued', () => {
  it.each([false, true])('is a 400 before anything else (stream: %s)', async (stream) => {
    const [deleted, unstored, foreign] = await Promise.all([
      create({ input: 'a' }),
      create({ input: 'a', store: false }),
      create({ input: 'a' }),
    ]);
    await openai.responses.delete(deleted.id);
    const asked = { input: 'b', stream };
    for (const id of ['resp_unknown', deleted.id, unstored.id]) {
      expect(await refused({ ...asked, previous_response_id: id })).toEqual(notFound(id));
    }
    expect(await refused({ ...asked, previous_response_id: foreign.id }, KEYS[1])).toEqual(
      notFound(foreign.id),
    );
    expect(await refused({ ...asked, previous_response_id: foreign.id, conversation: 'conv_1' })).toEqual([
      400,
      expect.objectContaining({
        param: 'previous_response_id',
        code: 'mutually_exclusive_parameters',
      }),
    ]);
    expect(await refused({ ...asked, previous_response_id: 5 })).toEqual([
      400,
      expect.objectContaining({ param: 'previous_response_id', code: 'invalid_type' }),
    ]);
  });

  it('is also one for counting and compacting', async () => {
    for (const at of ['/v1/responses/input_tokens', '/v1/responses/compact']) {
      expect(await refused({ previous_response_id: 'resp_unknown' }, KEYS[0], at)).toEqual(
        notFound('resp_unknown'),
      );
    }
  });
});

describe('a continued response', () => {
  it('has the whole conversation before its input, and inherits nothing else', async () => {
    const first = await create({
      input: 'one',
      instructions: 'Be brief.',
      tools: [TOOL],
      tool_choice: 'none',
      metadata: { a: 'b' },
      max_output_tokens: 50,
      reasoning: { effort: 'high' },
      text: { verbosity: 'low' },
      temperature: 0.5,
    });
    const second = await create({ input: 'two', previous_response_id: first.id });
    expect(second).toMatchObject({
      previous_response_id: first.id,
      instructions: null,
      tools: [],
      tool_choice: 'auto',
      metadata: {},
      max_output_tokens: null,
      reasoning: { effort: null },
      text: { verbosity: 'medium' },
      temperature: 1,
    });
    expect(sentTexts()).toEqual(['user: one', 'assistant: Hello from the scripted model.', 'user: two']);
    expect(JSON.stringify(proxy.model.requests.at(-1)?.body)).not.toContain('Be brief.');
  });

  it('may fork at any place, any number of times', async () => {
    const root = await create({ input: 'root' });
    const left = await create({ input: 'left', previous_response_id: root.id });
    const right = await create({ input: 'right', previous_response_id: root.id });
    const deep = await create({ input: 'deep', previous_response_id: left.id });
    await create({ input: 'again', previous_response_id: right.id });
    const said = 'assistant: Hello from the scripted model.';
    expect(sentTexts()).toEqual(['user: root', said, 'user: right', said, 'user: again']);
    await create({ input: 'more', previous_response_id: deep.id });
    expect(sentTexts()).toEqual(['user: root', said, 'user: left', said, 'user: deep', said, 'user: more']);
  });

  it('may continue an incomplete answer, whose text stays', async () => {
    proxy.use(incompleteMaxTokens);
    const first = await create({ input: 'a', max_output_tokens: 20 });
    expect(first['status']).toBe('incomplete');
    proxy.use(hello);
    await create({ input: 'go on', previous_response_id: first.id });
    expect(sentTexts()).toHaveLength(3);
  });

  it('may continue a failed stream, with what it had finished', async () => {
    proxy.use(cutMidStream);
    const stream = await proxy.post('/v1/responses', { model: MODEL, input: 'a', stream: true });
    const last = eventsOf(await collectSse(stream)).at(-1);
    const { id, status } = (last?.['response'] ?? {}) as JsonObject;
    expect(status).toBe('failed');
    proxy.use(hello);
    await create({ input: 'again', previous_response_id: id });
    expect(sentTexts()).toEqual(['user: a', 'assistant: This sentence will never', 'user: again']);
  });

  it('must answer the calls of the conversation', async () => {
    proxy.use(toolCall());
    const first = await create({ input: 'weather', tools: [TOOL] });
    proxy.use(hello);
    const output = { type: 'function_call_output', call_id: 'call_weather', output: 'rain' };
    const unpaired = (message: string) => [
      400,
      { message, type: 'invalid_request_error', param: 'input', code: null },
    ];
    const next = { previous_response_id: first.id };
    for (const stream of [false, true]) {
      expect(await refused({ ...next, input: 'never mind', stream })).toEqual(
        unpaired('No tool output found for function call call_weather.'),
      );
      expect(await refused({ ...next, input: [output, { ...output, call_id: 'call_2' }], stream })).toEqual(
        unpaired('No tool call found for function call output with call_id call_2.'),
      );
    }
    const second = await create({ ...next, input: [output] });
    expect(sentTexts()).toEqual(['user: weather', 'function_call', 'function_call_output']);
    // The output of the second answer is in the conversation now.
    await create({ input: 'thanks', previous_response_id: second.id });
    expect(sentTexts()).toHaveLength(5);
  });

  it('needs no input of its own', async () => {
    const first = await create({ input: 'one' });
    await create({ previous_response_id: first.id });
    expect(sentTexts()).toEqual(['user: one', 'assistant: Hello from the scripted model.']);
  });

  it('may truncate', async () => {
    const first = await create({ input: 'one' });
    const second = await create({ input: 'two', previous_response_id: first.id, truncation: 'auto' });
    expect(second['truncation']).toBe('auto');
    expect(proxy.model.requests.at(-1)?.body['truncation']).toBe('auto');
  });
});

describe('a stored conversation', () => {
  it('is counted', async () => {
    const count = async (body: OpenAI.Responses.InputTokenCountParams): Promise<number> =>
      (await openai.responses.inputTokens.count({ model: MODEL, ...body })).input_tokens;
    const words = 'word '.repeat(500);
    const first = await create({ input: words });
    const alone = await count({ input: 'two' });
    const chain = await count({ previous_response_id: first.id });
    expect(chain).toBeGreaterThan(500);
    expect(await count({ previous_response_id: first.id, input: 'two' })).toBeGreaterThan(
      Math.max(chain, alone),
    );
  });

  it('is compacted', async () => {
    proxy.use(reasoningThenText);
    const first = await create({ input: 'one' });
    proxy.use(says([{ text: 'A summary.' }]));
    const compacted = await openai.responses.compact({ model: MODEL, previous_response_id: first.id });
    expect(compacted.object).toBe('response.compaction');
    expect(compacted.output).toMatchObject([
      { type: 'message', role: 'user', content: [{ text: 'one' }] },
      { type: 'compaction' },
    ]);
    await expect(openai.responses.retrieve(compacted.id)).rejects.toMatchObject({ status: 404 });
    proxy.use(hello);
    await create({
      input: [...(compacted.output as unknown as JsonObject[]), { role: 'user', content: 'and?' }],
    });
    expect(sentTexts().at(-1)).toBe('user: and?');
  });
});

describe('metadata', () => {
  it.each([
    ['17 pairs', Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v']))],
    ['a long key', { ['k'.repeat(65)]: 'v' }],
    ['a long value', { k: 'v'.repeat(513) }],
    ['a number', { k: 1 }],
  ])('with %s is a 400', async (_, metadata) => {
    expect(await refused({ input: 'hi', metadata })).toEqual([
      400,
      expect.objectContaining({ param: expect.stringMatching(/^metadata/) }),
    ]);
  });

  it('is stored up to the limits', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 16 }, (_, index) => [`${index}`.padEnd(64, 'k'), 'v'.repeat(512)]),
    );
    const { id } = await create({ input: 'hi', metadata });
    expect((await openai.responses.retrieve(id)).metadata).toEqual(metadata);
  });
});
