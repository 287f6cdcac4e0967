import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { expectMatchesSchema } from '../support/schema.ts';
import { hello, slow } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';

/** Stored responses, with OpenAI's SDK. */

const KEYS = ['sk-test-key-0123456789', 'sk-other-key-0123456789'] as const;
const proxy = await openProxy(hello, { PROXY_API_KEY: KEYS.join(',') });
const { openai } = proxy;
const start = freshProxies();
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: KEYS[1], maxRetries: 0 });

const MODEL = 'gpt-5.5';
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const notFound = (id: string, why = '') => ({
  status: 404,
  error: {
    message: `Response with id '${id}' not found.${why}`,
    type: 'invalid_request_error',
    param: null,
    code: null,
  },
});

const create = (input: string | ResponseInputItem[], more: object = {}) =>
  openai.responses.create({ model: MODEL, input, ...more, stream: false });

describe('responses.retrieve', () => {
  it('finds a response right after its answer', async () => {
    const whole = await create('hi');
    expect(whole).toMatchObject({ store: true });
    expect(await openai.responses.retrieve(whole.id)).toEqual(whole);
    for await (const event of openai.responses.stream({ model: MODEL, input: 'hi' })) {
      if (event.type !== 'response.completed') continue;
      expect(await openai.responses.retrieve(event.response.id)).toMatchObject({
        ...event.response,
        output_text: 'Hello from the scripted model.',
      });
    }
  });

  it('does not find a response that still runs, or was not stored, or never was', async () => {
    proxy.use(slow(20));
    for await (const event of openai.responses.stream({ model: MODEL, input: 'hi' })) {
      if (event.type !== 'response.created') continue;
      const { id } = event.response;
      await expect(openai.responses.retrieve(id)).rejects.toMatchObject(notFound(id));
    }
    proxy.use(hello);
    const unstored = await create('hi', { store: false });
    expect(unstored).toMatchObject({ store: false });
    for (const unknown of [unstored.id, 'resp_0', 'nothing at all']) {
      await expect(openai.responses.retrieve(unknown)).rejects.toMatchObject(notFound(unknown));
    }
  });

  it('does not find a response of another key', async () => {
    const { id } = await create('hi');
    const calls = [
      () => stranger.responses.retrieve(id),
      () => stranger.responses.delete(id),
      () => stranger.responses.inputItems.list(id),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject(notFound(id));
    expect((await openai.responses.retrieve(id)).id).toBe(id);
  });

  it('rejects an unknown include', async () => {
    const { id } = await create('hi');
    const include = ['usage'] as unknown as OpenAI.Responses.ResponseIncludable[];
    await expect(openai.responses.retrieve(id, { include })).rejects.toMatchObject({
      status: 400,
      param: 'include',
      code: 'invalid_value',
    });
  });
});

describe('responses.delete', () => {
  it('deletes a response, and those that continue it stay', async () => {
    const first = await create('one');
    const second = await create('two', { previous_response_id: first.id });
    const deleted = await proxy.send(`/v1/responses/${first.id}`, { method: 'DELETE' });
    expect([deleted.status, await deleted.json()]).toEqual([
      200,
      { id: first.id, object: 'response', deleted: true },
    ]);
    for (const call of [
      () => openai.responses.retrieve(first.id),
      () => openai.responses.delete(first.id),
      () => openai.responses.inputItems.list(first.id),
    ]) {
      await expect(call()).rejects.toMatchObject(notFound(first.id));
    }
    await expect(create('x', { previous_response_id: first.id })).rejects.toMatchObject({
      status: 400,
      code: 'previous_response_not_found',
    });
    expect(await openai.responses.retrieve(second.id)).toEqual(second);
    await create('three', { previous_response_id: second.id });
    expect(proxy.model.requests.at(-1)?.body['input']).toHaveLength(5);
  });
});

describe('responses.inputItems.list', () => {
  const textOf = (item: OpenAI.Responses.ResponseItem): string =>
    item.type === 'message'
      ? item.content.map((part) => ('text' in part ? part.text : part.type)).join()
      : item.type;
  const list = async (id: string, query: object = {}) => {
    const page = await openai.responses.inputItems.list(id, query);
    expectMatchesSchema('ResponseItemList', JSON.parse(JSON.stringify(bodyOf(page))));
    return page;
  };
  const bodyOf = (page: Awaited<ReturnType<typeof openai.responses.inputItems.list>>) => ({
    object: 'list',
    data: page.data,
    first_id: page.data[0]?.id,
    last_id: page.data.at(-1)?.id,
    has_more: page.has_more,
  });

  it('shows a text as a message with an id', async () => {
    const { id } = await create('hi');
    const answer = await proxy.get(`/v1/responses/${id}/input_items`);
    const item = {
      id: `msg_${id.slice('resp_'.length)}0000`,
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_text', text: 'hi' }],
    };
    expect(await answer.json()).toEqual({
      object: 'list',
      data: [item],
      first_id: item.id,
      last_id: item.id,
      has_more: false,
    });
  });

  it('shows images if they are included', async () => {
    const { id } = await create([
      { role: 'user', content: [{ type: 'input_image', image_url: PNG, detail: 'low' }] },
    ]);
    const image = { type: 'input_image', image_url: null, detail: 'low' };
    expect((await list(id)).data).toMatchObject([{ content: [image] }]);
    expect((await list(id, { include: ['message.input_image.image_url'] })).data).toMatchObject([
      { content: [{ ...image, image_url: PNG }] },
    ]);
  });

  it('pages through the input and the conversation before it, in both orders', async () => {
    const first = await create([
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'one' },
    ]);
    const second = await create(
      Array.from({ length: 25 }, (_, index) => ({ role: 'user' as const, content: `two ${index}` })),
      { previous_response_id: first.id },
    );
    const all = [
      'Be brief.',
      'one',
      'Hello from the scripted model.',
      ...Array.from({ length: 25 }, (_, index) => `two ${index}`),
    ];
    for (const [order, expected] of [
      ['asc', all],
      ['desc', all.toReversed()],
    ] as const) {
      for (const limit of [1, 7, 100]) {
        const read = await collect(openai.responses.inputItems.list(second.id, { order, limit }));
        expect(read.map(textOf)).toEqual(expected);
        expect(new Set(read.map((item) => item.id)).size).toBe(28);
      }
    }
    const page = await list(second.id);
    expect([page.data.map(textOf), page.has_more]).toEqual([all.toReversed().slice(0, 20), true]);
    const [, , third] = page.data;
    const before = await proxy.get(`/v1/responses/${second.id}/input_items?before=${third?.id}&limit=1`);
    expect(await before.json()).toMatchObject({ data: [page.data[1]], has_more: true });
  });

  it.each([
    ['limit=0', 'integer_below_min_value', 'limit'],
    ['limit=101', 'integer_above_max_value', 'limit'],
    ['order=newest', 'invalid_value', 'order'],
    ['after=msg_1', 'invalid_value', 'after'],
    ['include=all', 'invalid_value', 'include'],
  ])('rejects %s', async (query, code, param) => {
    const { id } = await create('hi');
    const answer = await proxy.get(`/v1/responses/${id}/input_items?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code, param } }]);
  });
});

it('names query parameters without effect', async () => {
  const { id } = await create('hi');
  const ignored = async (at: string) => (await proxy.get(at)).headers.get('x-proxy-ignored-params');
  expect([
    await ignored(`/v1/responses/${id}?include_obfuscation=true&colour=red`),
    await ignored(`/v1/responses/${id}?include_obfuscation=false&starting_after=3`),
    await ignored(`/v1/responses/${id}/input_items?limit=5&include[]=reasoning.encrypted_content&page=2`),
    await ignored(`/v1/responses/${id}`),
  ]).toEqual(['include_obfuscation, colour', 'starting_after', 'page', null]);
});

it('rejects a stream that is neither true nor false', async () => {
  const { id } = await create('hi');
  const answer = await proxy.get(`/v1/responses/${id}?stream=maybe`);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    {
      error: {
        message: "Invalid type for 'stream': expected a boolean, but got 'maybe' instead.",
        type: 'invalid_request_error',
        param: 'stream',
        code: 'invalid_type',
      },
    },
  ]);
});

it('has other methods for what it does not serve', async () => {
  const { id } = await create('hi');
  const answer = await proxy.post(`/v1/responses/${id}`, {});
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, DELETE']);
});

describe('PROXY_STORE=off', () => {
  it('stores nothing, and says so', async () => {
    const none = await start(hello, { PROXY_STORE: 'off' });
    const first = await none.openai.responses.create({ model: MODEL, input: 'hi', store: true });
    expect(first).toMatchObject({ store: false });
    const { id } = first;
    for (const call of [
      () => none.openai.responses.retrieve(id),
      () => none.openai.responses.delete(id),
      () => none.openai.responses.inputItems.list(id),
    ]) {
      const why = ' This server stores nothing (PROXY_STORE=off).';
      await expect(call()).rejects.toMatchObject(notFound(id, why));
    }
    const next = { model: MODEL, input: 'x' };
    await expect(none.openai.responses.create({ ...next, previous_response_id: id })).rejects.toMatchObject({
      code: 'previous_response_not_found',
    });
    const bare = { type: 'reasoning' as const, id: 'rs_0123456789abcdef', summary: [] };
    const sent = [bare, { role: 'user' as const, content: 'x' }];
    await expect(none.openai.responses.create({ ...next, input: sent })).resolves.toMatchObject({
      status: 'completed',
    });
  });
});
