import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { itemsOf } from '../clients/rounds.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, reasoningThenText, says } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';

/** Requests that name stored items by id. */

const KEYS = ['sk-test-key-0123456789', 'sk-other-key-0123456789'] as const;
const PROXIES = {
  'from memory': await openProxy(hello, { PROXY_API_KEY: KEYS.join(',') }),
  'from the store': await openProxy(hello, { PROXY_API_KEY: KEYS.join(','), PROXY_ITEM_MEMORY_MB: '0' }),
};

const MODEL = 'gpt-5.5';
const reference = (id: string): ResponseInputItem => ({ type: 'item_reference', id });
const user = (content: string): ResponseInputItem => ({ role: 'user', content });

describe.each(Object.entries(PROXIES))('an item reference, %s', (_, proxy) => {
  const { openai } = proxy;
  const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: KEYS[1], maxRetries: 0 });
  const create = (input: ResponseInputItem[], more: object = {}, by = openai) =>
    by.responses.create({ model: MODEL, input, ...more, stream: false });
  const sent = () => itemsOf(proxy.model.requests.at(-1)?.body ?? {});
  const notFound = (id: string) => ({
    status: 404,
    error: {
      message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      type: 'invalid_request_error',
      param: 'input',
      code: null,
    },
  });

  it('to an item of the continued conversation is rejected, because the model would read it twice', async () => {
    const first = await create([user('one')]);
    const id = first.output[0]?.id ?? '';
    await expect(
      create([reference(id), user('two')], { previous_response_id: first.id }),
    ).rejects.toMatchObject({
      status: 400,
      error: {
        message: `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        param: 'input',
      },
    });
  });

  it('is replaced by the output item or the input item that it names', async () => {
    proxy.use(reasoningThenText);
    const first = await create([user('one')]);
    proxy.use(hello);
    const [asked] = await collect(openai.responses.inputItems.list(first.id));
    const [thought, said] = first.output;
    const ids = [asked?.id ?? '', thought?.id ?? '', said?.id ?? ''];
    const input = [...ids.map(reference), user('two')];
    await create(input);
    const expected = [
      { role: 'user', content: [{ text: 'one' }] },
      { type: 'reasoning', encrypted_content: 'opaque-reasoning' },
      { role: 'assistant', content: [{ text: 'The answer is 42.' }] },
      { role: 'user', content: [{ text: 'two' }] },
    ];
    expect(sent()).toMatchObject(expected);
    // The type may be absent or null.
    const untyped = ids.map((id, index) => ({ id, ...(index === 0 ? { type: null } : {}) }));
    const answer = await proxy.post('/v1/responses', { model: MODEL, input: [...untyped, user('two')] });
    expect(answer.status).toBe(200);
    expect(sent()).toMatchObject(expected);
  });

  it('is part of the conversation that it was used in', async () => {
    const first = await create([user('one')]);
    const second = await create([user('two'), reference(first.output[0]?.id ?? '')]);
    await openai.responses.delete(first.id);
    await create([user('three')], { previous_response_id: second.id });
    expect(sent().map(({ role }) => role)).toEqual(['user', 'assistant', 'assistant', 'user']);
  });

  it('is a 404 if the item is unknown, was not stored, was deleted, or belongs to another key', async () => {
    const [unstored, deleted, foreign] = await Promise.all([
      create([user('a')], { store: false }),
      create([user('a')]),
      create([user('a')]),
    ]);
    await openai.responses.delete(deleted.id);
    for (const id of [unstored, deleted].map(({ output }) => output[0]?.id ?? '')) {
      await expect(create([reference(id), user('b')])).rejects.toMatchObject(notFound(id));
    }
    const gone = 'msg_0123456789abcdef0123456789abcdef';
    for (const id of ['msg_1', gone, `${gone}0000`]) {
      await expect(create([reference(id), user('b')])).rejects.toMatchObject(notFound(id));
    }
    const id = foreign.output[0]?.id ?? '';
    await expect(create([reference(id), user('b')], {}, stranger)).rejects.toMatchObject(notFound(id));
  });

  it('is not looked up for items that have content, whatever their ids are', async () => {
    const first = await create([user('one')]);
    const id = first.output[0]?.id ?? '';
    const other = { type: 'message', role: 'assistant', id, content: 'Something else.' };
    await create([user('one'), other as ResponseInputItem, user('two')]);
    expect(sent()[1]).toMatchObject({ id, content: [{ text: 'Something else.' }] });
  });

  it('counts like the body', async () => {
    proxy.use(says([{ text: 'word '.repeat(100) }]));
    const first = await create([user('one')]);
    proxy.use(hello);
    const id = first.output[0]?.id ?? '';
    const counted = await openai.responses.inputTokens.count({ model: MODEL, input: [reference(id)] });
    expect(counted.input_tokens).toBeGreaterThan(100);
  });
});
