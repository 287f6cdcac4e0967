import OpenAI from 'openai';
import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello, slow, toolCall } from '../support/scripts.ts';

/** What operators see of the conversations of all keys. */

const STRANGER = 'sk-stranger-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${STRANGER}` });
const { openai } = proxy;
const stranger = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: STRANGER, maxRetries: 0 });

type Listed = { readonly data: readonly Record<string, unknown>[]; readonly has_more: boolean };
const get = async (route = ''): Promise<unknown> =>
  (await proxy.get(`/v1/codex/conversations${route}`)).json();
const list = async (query: string): Promise<Listed> => (await get(query)) as Listed;
const remove = async (id: string): Promise<unknown> =>
  (await proxy.send(`/v1/codex/conversations/${id}`, { method: 'DELETE' })).json();
const errorOf = async (answer: Promise<unknown>): Promise<unknown> =>
  ((await answer) as { error: { message: string } }).error.message;

it('are listed, read and deleted with any owner', async () => {
  const conversation = await openai.conversations.create({ metadata: { topic: 'tea' } });
  await openai.responses.create({
    model: 'codex-5',
    input: 'Green or black?',
    conversation: conversation.id,
  });
  const one = await stranger.responses.create({ model: 'codex-5', input: 'Hello?' });
  const two = await stranger.responses.create({
    model: 'codex-5',
    input: 'Again?',
    previous_response_id: one.id,
  });
  const branch = await stranger.responses.create({
    model: 'codex-5',
    input: 'Or else?',
    previous_response_id: one.id,
  });
  const all = await list('?limit=3');
  const row = {
    object: 'codex.conversation',
    key_id: expect.stringMatching(/^key_/),
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
    expires_at: expect.any(Number),
    forked_from: null,
  };
  const [fork, chain, named] = all.data;
  expect(all).toEqual({
    object: 'list',
    data: [
      {
        ...row,
        id: expect.stringMatching(/^seg_/),
        kind: 'chain',
        turns: 1,
        forked_from: { id: chain!['id'], turns: 1 },
      },
      { ...row, id: expect.stringMatching(/^seg_/), kind: 'chain', turns: 2 },
      { ...row, id: conversation.id, kind: 'conversation', turns: 1 },
    ],
    first_id: fork!['id'],
    last_id: conversation.id,
    has_more: false,
  });
  expect([fork!['key_id'], chain!['key_id'] === named!['key_id']]).toEqual([chain!['key_id'], false]);
  const ofStranger = await list(`?limit=1&key_id=${chain!['key_id'] as string}`);
  expect([ofStranger.data, ofStranger.has_more]).toEqual([[fork], true]);
  expect((await list(`?after=${fork!['id'] as string}&key_id=${chain!['key_id'] as string}`)).data).toEqual([
    chain,
  ]);

  expect(await get(`/${conversation.id}`)).toMatchObject({
    ...named,
    metadata: { topic: 'tea' },
    history: {
      object: 'list',
      has_more: false,
      data: [
        {
          object: 'codex.turn',
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          response_id: expect.stringMatching(/^resp_/),
          error: null,
          items: [
            {
              type: 'message',
              role: 'user',
              content: [{ type: 'input_text', text: 'Green or black?' }],
            },
            { type: 'message', role: 'assistant' },
          ],
        },
      ],
    },
  });
  const shared = (await get(`/${fork!['id'] as string}?limit=1`)) as { history: Listed };
  expect([shared.history.data.map((turn) => turn['response_id']), shared.history.has_more]).toEqual([
    [one.id],
    true,
  ]);
  const after = shared.history.data[0]!['id'] as string;
  const rest = (await get(`/${fork!['id'] as string}?after=${after}`)) as { history: Listed };
  expect([rest.history.data.map((turn) => turn['response_id']), rest.history.has_more]).toEqual([
    [branch.id],
    false,
  ]);

  const gone = { object: 'codex.conversation.deleted', deleted: true };
  // The fork continues its first turn.
  expect(await remove(chain!['id'] as string)).toEqual({ ...gone, id: chain!['id'], kept_turns: 1 });
  await expect(stranger.responses.retrieve(two.id)).rejects.toThrow('not found');
  await expect(
    stranger.responses.create({ model: 'codex-5', input: 'And?', previous_response_id: two.id }),
  ).rejects.toThrow('not found');
  expect(await stranger.responses.retrieve(branch.id)).toMatchObject({ id: branch.id });
  expect(await remove(conversation.id)).toEqual({ ...gone, id: conversation.id, kept_turns: 0 });
  await expect(openai.conversations.retrieve(conversation.id)).rejects.toThrow('not found');
  expect(await errorOf(remove(conversation.id))).toBe(`Conversation with id '${conversation.id}' not found.`);
});

it('show tool calls, and images if asked for', async () => {
  const image =
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
  proxy.use(toolCall());
  const { id } = await openai.conversations.create({
    items: [{ role: 'user', content: [{ type: 'input_image', image_url: image, detail: 'auto' }] }],
  });
  await openai.responses.create({
    model: 'codex-5',
    input: 'What is it?',
    conversation: id,
    tools: [{ type: 'function', name: 'get_weather', parameters: { type: 'object' }, strict: false }],
  });
  proxy.use(hello);
  const { history } = (await get(`/${id}?include[]=message.input_image.image_url`)) as { history: Listed };
  const [added, asked] = history.data;
  expect(added).toMatchObject({ response_id: null, items: [{ content: [{ image_url: image }] }] });
  expect((asked!['items'] as { type: string }[]).map(({ type }) => type)).toContain('function_call');
});

it('are deleted when the request that writes to them has ended', async () => {
  const { id } = await openai.conversations.create();
  proxy.use(slow());
  const stream = await openai.responses.create({
    model: 'codex-5',
    input: 'Hello?',
    conversation: id,
    stream: true,
  });
  const ends: string[] = [];
  const deleted = (async () => {
    ends.push(JSON.stringify(await remove(id)));
  })();
  for await (const { type } of stream) if (type === 'response.completed') ends.push(type);
  await deleted;
  proxy.use(hello);
  expect(ends).toEqual(['response.completed', expect.stringContaining('"deleted":true')]);
  expect(await errorOf(get(`/${id}`))).toContain('not found');
});

it('need the scope read to look, and admin to delete', async () => {
  const { id } = await openai.conversations.create();
  const tried = async (scope: string): Promise<readonly number[]> => {
    const made = await proxy.post('/v1/codex/keys', { name: `with ${scope}`, scopes: [scope] });
    const { key } = (await made.json()) as { key: string };
    const headers = { authorization: `Bearer ${key}` };
    const statuses: number[] = [];
    for (const [method, route] of [
      ['GET', ''],
      ['GET', `/${id}`],
      ['DELETE', `/${id}`],
    ] as const) {
      const answer = await proxy.send(`/v1/codex/conversations${route}`, { method, headers });
      statuses.push(answer.status);
    }
    return statuses;
  };
  expect(await tried('infer')).toEqual([403, 403, 403]);
  expect(await tried('read')).toEqual([200, 200, 403]);
  expect(await tried('admin')).toEqual([200, 200, 200]);
});

it('name what is wrong with a request', async () => {
  const { id } = await openai.conversations.create();
  expect(await errorOf(get('?after=seg_0'))).toBe(
    "Invalid 'after': there is no conversation with id 'seg_0'.",
  );
  expect(await errorOf(get(`/${id}?after=0`))).toBe("Invalid 'after': there is no turn with id '0'.");
  expect(await errorOf(get('/seg_0'))).toBe("Conversation with id 'seg_0' not found.");
  expect(await errorOf(get('?limit=0'))).toContain('limit');
});
