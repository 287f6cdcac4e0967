import OpenAI from 'openai';
import type { ConversationItem } from 'openai/resources/conversations/items';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { expectMatchesSchema } from '../support/schema.ts';
import { hello, reasoningThenText } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** OpenAI's own SDK: conversations and their items. */

const STRANGER = 'sk-stranger-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${STRANGER}` });
const { openai } = proxy;
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: STRANGER, maxRetries: 0 });

const says = (text: string, role: 'user' | 'developer' = 'user') => ({ role, content: text });

const shown = (text: string, role = 'user') => ({
  id: expect.stringMatching(/^msg_[0-9a-f]{36}$/) as string,
  type: 'message',
  status: 'completed',
  role,
  content: [{ type: 'input_text', text }],
});

const textOf = (item: ConversationItem): string =>
  item.type === 'message' && 'text' in (item.content[0] ?? {})
    ? (item.content[0] as { text: string }).text
    : '';

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    (error: InstanceType<typeof OpenAI.APIError>) => ({ status: error.status, ...(error.error as object) }),
  );

const unknown = (id: string) => ({
  status: 404,
  message: `Conversation with id '${id}' not found.`,
  type: 'invalid_request_error',
  param: null,
  code: null,
});

const invalid = (param: string, code: string, message: string) => ({
  status: 400,
  message,
  type: 'invalid_request_error',
  param,
  code,
});

describe('a conversation', () => {
  it('is created, retrieved, updated and deleted', async () => {
    const created = await openai.conversations.create({ metadata: { topic: 'tea' } });
    const { id, created_at } = created;
    expect(created).toEqual({
      id: expect.stringMatching(/^conv_[0-9a-f]{32}$/),
      object: 'conversation',
      created_at: expect.any(Number),
      metadata: { topic: 'tea' },
    });
    expectMatchesSchema('ConversationResource', created);
    expect(await openai.conversations.retrieve(id)).toEqual(created);
    const updated = await openai.conversations.update(id, { metadata: { mood: 'calm' } });
    expect(updated).toEqual({ id, object: 'conversation', created_at, metadata: { mood: 'calm' } });
    expect(await openai.conversations.retrieve(id)).toEqual(updated);
    expect(await openai.conversations.update(id, { metadata: null })).toEqual({ ...updated, metadata: {} });
    const deleted = await openai.conversations.delete(id);
    expect(deleted).toEqual({ id, object: 'conversation.deleted', deleted: true });
    expectMatchesSchema('DeletedConversationResource', deleted);
    const gone = [
      openai.conversations.retrieve(id),
      openai.conversations.update(id, { metadata: {} }),
      openai.conversations.delete(id),
      openai.conversations.items.list(id),
      openai.conversations.items.create(id, { items: [says('hi')] }),
      openai.conversations.items.retrieve('msg_1', { conversation_id: id }),
      openai.conversations.items.delete('msg_1', { conversation_id: id }),
      openai.responses.create({ model: 'gpt-5.5', input: 'hi', conversation: id }),
    ];
    expect(await Promise.all(gone.map(errorOf))).toEqual(gone.map(() => unknown(id)));
  });

  it('needs no body, and may begin with items', async () => {
    const empty = await openai.conversations.create();
    expect(empty.metadata).toEqual({});
    expect(await openai.conversations.create({ items: [], metadata: null })).toMatchObject({ metadata: {} });
    const { id } = await openai.conversations.create({ items: [says('one'), says('two', 'developer')] });
    const list = await openai.conversations.items.list(id, { order: 'asc' });
    expect(list.data).toEqual([shown('one'), shown('two', 'developer')]);
  });

  it('belongs to its key', async () => {
    const { id } = await openai.conversations.create({ items: [says('mine')] });
    const { data } = await openai.conversations.items.list(id);
    const at = { conversation_id: id };
    const itemId = data[0]?.id ?? '';
    const tried = [
      stranger.conversations.retrieve(id),
      stranger.conversations.update(id, { metadata: {} }),
      stranger.conversations.delete(id),
      stranger.conversations.items.list(id),
      stranger.conversations.items.create(id, { items: [says('hi')] }),
      stranger.conversations.items.retrieve(itemId, at),
      stranger.conversations.items.delete(itemId, at),
      stranger.responses.create({ model: 'gpt-5.5', input: 'hi', conversation: id }),
    ];
    expect(await Promise.all(tried.map(errorOf))).toEqual(tried.map(() => unknown(id)));
    expect((await openai.conversations.items.list(id)).data).toEqual(data);
  });

  it('has limits', async () => {
    const many = Array.from({ length: 21 }, () => says('x'));
    const tooMany =
      "Invalid 'items': array too long. Expected an array with maximum length 20, but got an array with length 21 instead.";
    const { id } = await openai.conversations.create();
    const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 'v']));
    const tried = [
      openai.conversations.create({ items: many }),
      openai.conversations.items.create(id, { items: many }),
      openai.conversations.create({ metadata: pairs }),
      openai.conversations.update(id, {} as never),
      openai.conversations.create({ items: [{ role: 'pilot', content: 'x' } as never] }),
      openai.conversations.items.create(id, { items: [{ type: 'item_reference', id: 'msg_unknown' }] }),
      openai.conversations.items.create(id, { items: [{ type: 'compaction_trigger' } as never] }),
    ];
    expect(await Promise.all(tried.map(errorOf))).toEqual([
      invalid('items', 'array_above_max_length', tooMany),
      invalid('items', 'array_above_max_length', tooMany),
      invalid('metadata', 'invalid_value', "Invalid 'metadata': expected at most 16 keys."),
      invalid('metadata', 'missing_required_parameter', "Missing required parameter: 'metadata'."),
      invalid(
        'items[0].role',
        'invalid_value',
        "Invalid value: 'pilot'. Supported values are: 'user', 'assistant', 'system', and 'developer'.",
      ),
      {
        ...invalid('items', '', expect.stringContaining("Item with id 'msg_unknown' not found.")),
        status: 404,
        code: null,
      },
      invalid(
        'items[0]',
        'invalid_value',
        "Invalid 'items[0]': a compaction_trigger belongs to the input of a response, not to a conversation.",
      ),
    ]);
    expect((await openai.conversations.items.list(id)).data).toEqual([]);
  });
});

describe('the items of a conversation', () => {
  it('are added, read and deleted one by one', async () => {
    const { id, ...rest } = await openai.conversations.create();
    const at = { conversation_id: id };
    const added = await openai.conversations.items.create(id, { items: [says('one'), says('two')] });
    const [one, two] = added.data;
    expect(added).toEqual({
      object: 'list',
      data: [shown('one'), shown('two')],
      first_id: one?.id,
      last_id: two?.id,
      has_more: false,
    });
    expectMatchesSchema('ConversationItemList', added);
    expect(await openai.conversations.items.retrieve(two?.id ?? '', at)).toEqual(two);
    expect(await openai.conversations.items.delete(one?.id ?? '', at)).toEqual({ id, ...rest });
    const left = await openai.conversations.items.list(id);
    expect(left.data).toEqual([two]);
    const gone = {
      status: 404,
      message: `Item with id '${one?.id}' not found.`,
      type: 'invalid_request_error',
      param: null,
      code: null,
    };
    expect(await errorOf(openai.conversations.items.retrieve(one?.id ?? '', at))).toEqual(gone);
    expect(await errorOf(openai.conversations.items.delete(one?.id ?? '', at))).toEqual(gone);
    await openai.responses.create({ model: 'gpt-5.5', input: 'three', conversation: id });
    expect(sentItems(proxy.model).map((item) => JSON.stringify(item))).toEqual([
      expect.stringContaining('two'),
      expect.stringContaining('three'),
    ]);
  });

  it('are listed from the newest to the oldest, page by page', async () => {
    const { id } = await openai.conversations.create();
    const texts = Array.from({ length: 45 }, (_, index) => `item ${index}`);
    for (const start of [0, 20, 40]) {
      await openai.conversations.items.create(id, {
        items: texts.slice(start, start + 20).map((text) => says(text)),
      });
    }
    const read = async (query: object): Promise<readonly string[]> => {
      const all: string[] = [];
      for await (const item of openai.conversations.items.list(id, query)) all.push(textOf(item));
      return all;
    };
    expect(await read({})).toEqual(texts.toReversed());
    expect(await read({ order: 'asc', limit: 7 })).toEqual(texts);
    expect(await read({ order: 'desc', limit: 100 })).toEqual(texts.toReversed());
    const first = await openai.conversations.items.list(id);
    expect([first.data.length, first.has_more]).toEqual([20, true]);
    const empty = await proxy.get(`/v1/conversations/${(await openai.conversations.create()).id}/items`);
    expect(await empty.json()).toEqual({
      object: 'list',
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });

  it('are shown with the fields that a request asks for', async () => {
    proxy.use(reasoningThenText);
    const { id } = await openai.conversations.create();
    await openai.responses.create({ model: 'gpt-5.5', input: 'why?', conversation: id });
    proxy.use(hello);
    const list = await openai.conversations.items.list(id, { order: 'asc' });
    expectMatchesSchema(
      'ConversationItemList',
      await (await proxy.get(`/v1/conversations/${id}/items`)).json(),
    );
    const [, reasoning] = list.data;
    expect(list.data.map(({ type }) => type)).toEqual(['message', 'reasoning', 'message']);
    expect(reasoning).not.toHaveProperty('encrypted_content');
    const include = { include: ['reasoning.encrypted_content' as const] };
    const whole = await openai.conversations.items.list(id, { order: 'asc', ...include });
    expect(whole.data[1]).toEqual({ ...reasoning, encrypted_content: 'opaque-reasoning' });
    const itemId = reasoning?.id ?? '';
    expect(await openai.conversations.items.retrieve(itemId, { conversation_id: id })).toEqual(reasoning);
    expect(await openai.conversations.items.retrieve(itemId, { conversation_id: id, ...include })).toEqual(
      whole.data[1],
    );
  });

  it('may be references, calls and outputs', async () => {
    const { id } = await openai.conversations.create({ items: [says('first')] });
    const [first] = (await openai.conversations.items.list(id)).data;
    const { data } = await openai.conversations.items.create(id, {
      items: [
        { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'done' },
        { type: 'item_reference', id: first?.id ?? '' },
      ],
    });
    expect(data).toEqual([
      {
        id: expect.stringMatching(/^fc_/),
        type: 'function_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'f',
        arguments: '{}',
      },
      {
        id: expect.stringMatching(/^fco_/),
        type: 'function_call_output',
        status: 'completed',
        call_id: 'call_1',
        output: 'done',
      },
      shown('first'),
    ]);
    expect(data[2]?.id).not.toBe(first?.id);
  });

  it.each([
    ['limit=0', 'limit', 'integer_below_min_value'],
    ['limit=101', 'limit', 'integer_above_max_value'],
    ['limit=many', 'limit', 'invalid_type'],
    ['order=up', 'order', 'invalid_value'],
    ['after=msg_unknown', 'after', 'invalid_value'],
    ['include[]=everything', 'include', 'invalid_value'],
  ])('cannot be listed with %s', async (query, param, code) => {
    const { id } = await openai.conversations.create();
    const answer = await proxy.get(`/v1/conversations/${id}/items?${query}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param, code } }]);
  });

  it('name query parameters that have no effect', async () => {
    const { id } = await openai.conversations.create();
    const answer = await proxy.get(`/v1/conversations/${id}/items?before=x&limit=1`);
    expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([200, 'before']);
  });
});
