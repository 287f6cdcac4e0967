import OpenAI from 'openai';
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions';
import { beforeEach, describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { expectMatchesSchema, validateOpenai } from '../support/schema.ts';
import { hello, says, toolCall } from '../support/scripts.ts';

/** OpenAI's own SDK: chat completions with `store: true`. */

const STRANGER = 'sk-stranger-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${STRANGER}` });
const { completions } = proxy.openai.chat;
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: STRANGER, maxRetries: 0 });

beforeEach(() => proxy.use(hello));

const ask = (
  more: Partial<ChatCompletionCreateParamsNonStreaming> = {},
): ChatCompletionCreateParamsNonStreaming => ({
  model: 'gpt-5.5',
  messages: [{ role: 'user', content: 'hi' }],
  store: true,
  ...more,
});

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    (error: InstanceType<typeof OpenAI.APIError>) => ({ status: error.status, ...(error.error as object) }),
  );

const unknown = (id: string) => ({
  status: 404,
  message: `Chat completion with id '${id}' not found.`,
  type: 'invalid_request_error',
  param: null,
  code: null,
});

const body = async (path: string): Promise<unknown> => (await proxy.get(path)).json();

/** The ids of all completions that a filter finds. */
const idsOf = async (query: OpenAI.ChatCompletionListParams): Promise<readonly string[]> => {
  const ids: string[] = [];
  for await (const { id } of completions.list(query)) ids.push(id);
  return ids;
};

describe('a stored chat completion', () => {
  it('is retrieved, updated and deleted', async () => {
    const { data: created, response } = await completions
      .create(ask({ metadata: { topic: 'tea' } }))
      .withResponse();
    expect(response.headers.get('x-proxy-ignored-params')).toBeNull();
    const { id } = created;
    const stored = { ...created, metadata: { topic: 'tea' } };
    expect(await completions.retrieve(id)).toEqual(stored);
    expectMatchesSchema('CreateChatCompletionResponse', await body(`/v1/chat/completions/${id}`));
    const updated = { ...created, metadata: { topic: 'coffee', mood: 'calm' } };
    expect(await completions.update(id, { metadata: updated.metadata })).toEqual(updated);
    expect(await completions.retrieve(id)).toEqual(updated);
    const deleted = await completions.delete(id);
    expect(deleted).toEqual({ object: 'chat.completion.deleted', id, deleted: true });
    expectMatchesSchema('ChatCompletionDeleted', deleted);
    const gone = [
      completions.retrieve(id),
      completions.update(id, { metadata: {} }),
      completions.delete(id),
      completions.messages.list(id),
    ];
    expect(await Promise.all(gone.map(errorOf))).toEqual(gone.map(() => unknown(id)));
  });

  it.each([{ store: false }, { store: null }, {}])('is only stored if the client asks: %j', async (store) => {
    const { store: _, ...plain } = ask();
    const { id } = await completions.create({ ...plain, ...store });
    expect(await errorOf(completions.retrieve(id))).toEqual(unknown(id));
  });

  it('belongs to its key', async () => {
    const { id } = await completions.create(ask({ metadata: { mine: 'yes' } }));
    const theirs = stranger.chat.completions;
    const tried = [
      theirs.retrieve(id),
      theirs.update(id, { metadata: {} }),
      theirs.delete(id),
      theirs.messages.list(id),
    ];
    expect(await Promise.all(tried.map(errorOf))).toEqual(tried.map(() => unknown(id)));
    expect((await theirs.list()).data).toEqual([]);
    expect(await completions.retrieve(id)).toMatchObject({ metadata: { mine: 'yes' } });
  });

  it('is stored before the end of a stream is shown, with all choices', async () => {
    const stream = await completions.create({ ...ask({ n: 3 }), stream: true });
    let last = null;
    for await (const chunk of stream) last = chunk;
    const id = last?.id ?? '';
    expect(await completions.retrieve(id)).toMatchObject({
      id,
      object: 'chat.completion',
      metadata: {},
      choices: [0, 1, 2].map((index) => ({
        index,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'Hello from the scripted model.' },
      })),
      usage: { prompt_tokens: 33 },
    });
  });

  it('has its calls', async () => {
    proxy.use(toolCall());
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', parameters: {} } }];
    const created = await completions.create(ask({ tools }));
    expect(created.choices[0]?.finish_reason).toBe('tool_calls');
    expect(await completions.retrieve(created.id)).toEqual({ ...created, metadata: {} });
  });

  it('is not stored if it fails', async () => {
    const before = await idsOf({});
    proxy.use(says([{ text: 'half' }, { fail: { code: 'server_error', message: 'broken' } }]));
    expect(await errorOf(completions.create(ask()))).toMatchObject({ status: 502, message: 'broken' });
    const stream = await completions.create({ ...ask(), stream: true });
    await expect(stream.toReadableStream().pipeTo(new WritableStream())).rejects.toThrow('broken');
    expect(await idsOf({})).toEqual(before);
  });

  it('has limits of metadata', async () => {
    const { id } = await completions.create(ask());
    const metadata = { key: 'x'.repeat(513) };
    const refused = { status: 400, param: 'metadata.key', code: 'string_above_max_length' };
    expect(await errorOf(completions.create(ask({ metadata })))).toMatchObject(refused);
    expect(await errorOf(completions.update(id, { metadata }))).toMatchObject(refused);
    expect(await errorOf(completions.update(id, {} as never))).toMatchObject({
      status: 400,
      param: 'metadata',
      code: 'missing_required_parameter',
    });
  });
});

describe('the list of stored chat completions', () => {
  it('is in the order of creation, and can be filtered', async () => {
    const mark = { list: 'order' };
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const metadata = { ...mark, parity: index % 2 === 0 ? 'even' : 'odd' };
      const model = index < 3 ? 'gpt-5.5' : 'gpt-5.5-high';
      ids.push((await completions.create(ask({ metadata, model }))).id);
    }
    const [first = '', second = '', third = '', fourth = '', fifth = ''] = ids;
    expect(await idsOf({ metadata: mark })).toEqual(ids);
    expect(await idsOf({ metadata: mark, limit: 2 })).toEqual(ids);
    expect(await idsOf({ metadata: mark, order: 'desc', limit: 2 })).toEqual(ids.toReversed());
    expect(await idsOf({ metadata: { ...mark, parity: 'odd' } })).toEqual([second, fourth]);
    expect(await idsOf({ metadata: mark, model: 'gpt-5.5-high' })).toEqual([fourth, fifth]);
    expect(await idsOf({ metadata: mark, after: third })).toEqual([fourth, fifth]);
    expect(await idsOf({ metadata: mark, after: third, order: 'desc' })).toEqual([second, first]);
    expect(await idsOf({ metadata: { ...mark, parity: 'none' } })).toEqual([]);
    const page = await body('/v1/chat/completions?metadata[list]=order&limit=2');
    expect(page).toMatchObject({ object: 'list', first_id: first, last_id: second, has_more: true });
    expectMatchesSchema('ChatCompletionList', page);
    expect(await body('/v1/chat/completions?metadata[list]=none')).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
    // A changed value is found by its new value only.
    await completions.update(first, { metadata: { ...mark, parity: 'changed' } });
    expect(await idsOf({ metadata: { parity: 'changed' } })).toEqual([first]);
    expect(await idsOf({ metadata: { ...mark, parity: 'even' } })).toEqual([third, fifth]);
  });

  it.each([
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=101', 'limit', 'integer_above_max_value'],
    ['order=up', 'order', 'invalid_value'],
    ['after=chatcmpl-unknown', 'after', 'invalid_value'],
    ['metadata=text', 'metadata', 'invalid_type'],
  ])('cannot be read with %s', async (query, param, code) => {
    const answer = await proxy.get(`/v1/chat/completions?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param, code } }]);
  });
});

describe('the messages of a stored chat completion', () => {
  const part = { type: 'text' as const, text: 'What is this?' };
  const call = { id: 'call_1', type: 'function' as const, function: { name: 'f', arguments: '{}' } };

  it('are those of the request', async () => {
    const { id } = await completions.create(
      ask({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: [part], name: 'Ada' },
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'call_1', content: 'done' },
        ],
      }),
    );
    const empty = { refusal: null, name: null, content_parts: null };
    const expected = [
      { id: `${id}-0`, role: 'system', content: 'Be brief.', ...empty },
      { id: `${id}-1`, role: 'user', content: null, ...empty, name: 'Ada', content_parts: [part] },
      { id: `${id}-2`, role: 'assistant', content: null, tool_calls: [call], ...empty },
      { id: `${id}-3`, role: 'tool', tool_call_id: 'call_1', content: 'done', ...empty },
    ];
    expect(await body(`/v1/chat/completions/${id}/messages`)).toEqual({
      object: 'list',
      data: expected,
      first_id: `${id}-0`,
      last_id: `${id}-3`,
      has_more: false,
    });
    const read: unknown[] = [];
    for await (const message of completions.messages.list(id, { limit: 3, order: 'desc' }))
      read.push(message);
    expect(read).toEqual(expected.toReversed());
    const rest = await body(`/v1/chat/completions/${id}/messages?after=${id}-1&limit=1`);
    expect(rest).toMatchObject({ data: [expected[2]], has_more: true });
  });

  it('are matched by the schema if an assistant wrote them', async () => {
    const messages = [
      { role: 'assistant' as const, content: 'Hello.' },
      { role: 'assistant' as const, content: [part] },
    ];
    const { id } = await completions.create(ask({ messages }));
    const list = await body(`/v1/chat/completions/${id}/messages`);
    expect(validateOpenai('ChatCompletionMessageList', list)).toEqual([]);
  });

  it('include the prompt of a request without messages', async () => {
    const answer = await proxy.post('/v1/chat/completions', { model: 'gpt-5.5', prompt: 'hi', store: true });
    const { id } = (await answer.json()) as { id: string };
    expect(await body(`/v1/chat/completions/${id}/messages`)).toMatchObject({
      data: [{ id: `${id}-0`, role: 'user', content: 'hi' }],
    });
  });
});

it('names store as ignored for a body in the form of the Responses API', async () => {
  const answer = await proxy.post('/v1/chat/completions', { model: 'gpt-5.5', input: 'hi', store: true });
  expect(answer.headers.get('x-proxy-ignored-params')).toBe('store');
});
