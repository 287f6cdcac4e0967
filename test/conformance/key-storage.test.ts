import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** How much is kept for a key, as its clients see it. */

const proxy = await openProxy(hello, { PROXY_KEY_STORAGE_MB: '1' });

type Made = JsonObject & { readonly id: string; readonly key: string };

const make = async (fields: object = {}): Promise<Made> =>
  (await (await proxy.post('/v1/codex/keys', { name: 'keeper', ...fields })).json()) as Made;

const clientOf = ({ key: apiKey }: Made): OpenAI =>
  new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey, maxRetries: 0 });

const errorOf = (asking: Promise<unknown>) =>
  asking.then(
    () => null,
    (error: InstanceType<typeof OpenAI.APIError>) => ({
      status: error.status,
      code: error.code,
      retry: error.headers?.get('x-should-retry'),
    }),
  );

const REFUSED = { status: 429, code: 'storage_limit_exceeded', retry: 'false' };
const ask = { model: 'gpt-5.5', input: 'hi' };
/** Beyond 1 MB with two of them. */
const items = [{ role: 'user' as const, content: 'x'.repeat(600_000) }];

const fill = async (client: OpenAI): Promise<readonly string[]> => {
  const first = await client.conversations.create({ items });
  const second = await client.conversations.create({ items });
  return [first.id, second.id];
};

const storageOf = async ({ id }: Made): Promise<JsonObject> => {
  const answer = await proxy.get(`/v1/codex/keys/${id}/limits`);
  return ((await answer.json()) as { storage: JsonObject }).storage;
};

describe('a key that keeps as much as it may', () => {
  let key: Made;
  let client: OpenAI;
  let kept: readonly string[];
  let earlier: string;
  let earlierChat: string;
  beforeAll(async () => {
    key = await make();
    client = clientOf(key);
    earlier = (await client.responses.create(ask)).id;
    const messages = [{ role: 'user' as const, content: 'hi' }];
    earlierChat = (await client.chat.completions.create({ model: 'gpt-5.5', messages, store: true })).id;
    kept = await fill(client);
  });

  it('stores nothing more, whatever it is', async () => {
    const [conversation = ''] = kept;
    const before = proxy.model.requests.length;
    const asking = [
      client.conversations.create({}),
      client.conversations.items.create(conversation, { items: [{ role: 'user', content: 'more' }] }),
      client.responses.create(ask),
      client.responses.create({ ...ask, stream: true }),
      client.responses.create({ ...ask, background: true }),
      client.responses.create({ ...ask, store: false, conversation }),
      client.responses.create({ ...ask, previous_response_id: earlier }),
      client.chat.completions.create({
        model: 'gpt-5.5',
        messages: [{ role: 'user', content: 'hi' }],
        store: true,
      }),
      client.conversations.update(conversation, { metadata: { more: 'x' } }),
      client.chat.completions.update(earlierChat, { metadata: { more: 'x' } }),
    ];
    for (const refused of await Promise.all(asking.map(errorOf))) expect(refused).toEqual(REFUSED);
    expect(proxy.model.requests.length).toBe(before);
  });

  it('gets an error that says what to do', async () => {
    const refused = await fetch(`${proxy.url}/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}` },
    });
    expect(await refused.json()).toEqual({
      error: {
        message: expect.stringMatching(
          /^This server keeps at most 1 MB for this key, and 1\.\d MB are used\. Delete stored responses, conversations or chat completions, or wait until they expire\. Requests with "store": false still work, outside of conversations\.$/,
        ) as string,
        type: 'rate_limit_error',
        param: null,
        code: 'storage_limit_exceeded',
        storage: { used_bytes: expect.any(Number) as number, max_bytes: 1024 * 1024 },
      },
    });
  });

  it('cannot store with `generate: false` either', async () => {
    const socket = await openSocket({ url: proxy.url, key: key.key });
    expect(await socket.create({ ...ask, generate: false })).toMatchObject({
      type: 'error',
      status: 429,
      error: { code: 'storage_limit_exceeded' },
    });
    socket.ws.close();
  });

  it('goes on without storing, and reads what it has', async () => {
    const answer = await client.responses.create({ ...ask, store: false });
    expect(answer.status).toBe('completed');
    const chat = await client.chat.completions.create({
      model: 'gpt-5.5',
      messages: [{ role: 'user', content: 'hi' }],
    });
    expect(chat.choices).toHaveLength(1);
    const continued = await client.responses.create({ ...ask, store: false, previous_response_id: earlier });
    expect(continued.status).toBe('completed');
    expect((await client.responses.retrieve(earlier)).id).toBe(earlier);
  });

  it('does not disturb other keys', async () => {
    expect((await proxy.openai.responses.create(ask)).status).toBe('completed');
  });

  it('stores again when something is deleted', async () => {
    await client.conversations.delete(kept[0] ?? '');
    expect((await client.responses.create(ask)).status).toBe('completed');
    expect(await storageOf(key)).toEqual({
      used_bytes: expect.any(Number) as number,
      max_bytes: 1024 * 1024,
    });
  });
});

describe('the limit of a key', () => {
  it('replaces that of the server', async () => {
    const larger = await make({ storage_mb: 3 });
    await fill(clientOf(larger));
    expect((await clientOf(larger).responses.create(ask)).status).toBe('completed');
    const unlimited = await make({ storage_mb: 0 });
    await fill(clientOf(unlimited));
    expect((await clientOf(unlimited).responses.create(ask)).status).toBe('completed');
    expect(await storageOf(unlimited)).toMatchObject({ max_bytes: null });
    await proxy.post(`/v1/codex/keys/${unlimited.id}`, { storage_mb: null });
    expect(await errorOf(clientOf(unlimited).responses.create(ask))).toEqual(REFUSED);
  });
});
