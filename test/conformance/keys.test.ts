import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, slow } from '../support/scripts.ts';

/** Named keys, as their administrator makes them over HTTP and as clients use them. */

const proxy = await openProxy(hello, { PROXY_TRUSTED_PROXIES: '127.0.0.1,::1' });

const SECRET = /^sk-proxy-[\w-]{43}$/;

type Made = JsonObject & { readonly id: string; readonly key: string };

const make = async (fields: object): Promise<Made> => {
  const answer = await proxy.post('/v1/codex/keys', fields);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Made;
};

const act = async (method: string, path: string, body?: object): Promise<JsonObject> => {
  const answer = await proxy.send(`/v1/codex/keys${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as JsonObject };
};

const clientOf = (apiKey: string): OpenAI =>
  new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey, maxRetries: 0 });

const ask = { model: 'gpt-5.5', input: 'hi' };

const statusWith = async (key: string, path: string, init: RequestInit = {}): Promise<number> => {
  const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) };
  return (await fetch(proxy.url + path, { ...init, headers })).status;
};

/** What a client with this key gets. */
const outcome = async (key: string): Promise<string> => {
  try {
    return (await clientOf(key).responses.create(ask)).output_text;
  } catch (error) {
    if (!(error instanceof APIError)) throw error;
    return `${String(error.status)} ${String(error.code)}`;
  }
};

const HELLO = 'Hello from the scripted model.';

describe('a named key', () => {
  it('is shown with its secret once, and works at once', async () => {
    const made = await make({ name: 'laptop', note: 'for Ada', limits: [] });
    expect(made).toEqual({
      object: 'codex.key',
      id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
      name: 'laptop',
      note: 'for Ada',
      hint: `sk-proxy-…${made.key.slice(-4)}`,
      scopes: ['infer'],
      models: [],
      workspaces: [],
      effort: null,
      addresses: [],
      concurrency: null,
      limits: [],
      storage_mb: null,
      status: 'active',
      created_at: expect.any(Number),
      expires_at: null,
      last_used_at: null,
      key: expect.stringMatching(SECRET),
    });
    const { key, ...shown } = made;
    expect(await act('GET', `/${made.id}`)).toEqual({ status: 200, body: shown });
    expect(await act('GET', '?limit=1')).toEqual({
      status: 200,
      body: { object: 'list', data: [shown], has_more: false },
    });
    expect(await outcome(key)).toBe(HELLO);
    // The last use is written later.
    await expect
      .poll(() => act('GET', `/${made.id}`), { timeout: 20_000 })
      .toEqual({ status: 200, body: { ...shown, last_used_at: expect.any(Number) as unknown } });
  });

  it('is listed page by page, the newest first', async () => {
    const ids = [await make({ name: 'a' }), await make({ name: 'b' }), await make({ name: 'c' })]
      .map(({ id }) => id)
      .toReversed();
    const page = async (query: string): Promise<unknown> => {
      const { body } = await act('GET', query);
      const { data, has_more: hasMore } = body as unknown as { data: { id: string }[]; has_more: boolean };
      return { ids: data.map(({ id }) => id), hasMore };
    };
    expect(await page('?limit=2')).toEqual({ ids: ids.slice(0, 2), hasMore: true });
    expect(await page(`?limit=1&after=${ids[0]}`)).toEqual({ ids: [ids[1]], hasMore: true });
    expect(await act('GET', '?after=key_1')).toMatchObject({
      status: 400,
      body: { error: { param: 'after' } },
    });
  });

  it.each([
    [{}, 'name', "Missing required parameter: 'name'."],
    [{ name: 'x', colour: 'red' }, 'colour', "Unknown parameter: 'colour'."],
    [{ name: 'x', limits: [{ unit: 'words' }] }, 'limits[0].unit', 'one of tokens, requests, cost'],
    [{ name: 'x', addresses: ['home'] }, 'addresses[0]', 'an IP address or a range'],
  ])('is not made of %j', async (fields, param, message) => {
    expect(await act('POST', '', fields)).toMatchObject({
      status: 400,
      body: { error: { param, message: expect.stringContaining(message) } },
    });
  });

  it('sees only the models that it may use, wherever models are named', async () => {
    const namesAt = async (path: string, key: string): Promise<readonly string[]> => {
      const answer = await fetch(proxy.url + path, { headers: { authorization: `Bearer ${key}` } });
      const { data, models } = (await answer.json()) as Record<
        string,
        readonly Readonly<Record<string, string>>[]
      >;
      return [...new Set((models ?? data ?? []).map(({ slug, id }) => slug ?? id ?? ''))];
    };
    const all = await make({ name: 'all models', scopes: ['infer', 'read'] });
    const known = await namesAt('/v1/codex/models', all.key);
    expect(known.length).toBeGreaterThan(3);
    const [, model = ''] = known;
    const { key } = await make({ name: 'one model', scopes: ['infer', 'read'], models: [model] });
    for (const path of ['/v1/codex/models', '/v1/models?client_version=1', '/backend-api/codex/models'])
      expect([path, await namesAt(path, key)]).toEqual([path, [model]]);
    const clients = await fetch(`${proxy.url}/v1/codex/clients`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const others = known.filter((name) => !model.includes(name));
    const text = await clients.text();
    expect([text.includes(model), others.filter((name) => text.includes(`"${name}`))]).toEqual([true, []]);
  });

  it('may do what its scopes say', async () => {
    const [infer, read, admin] = await Promise.all(
      ['infer', 'read', 'admin'].map((scope) => make({ name: scope, scopes: [scope] })),
    );
    const body = JSON.stringify(ask);
    const post = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const tried = async ({ key, id }: Made): Promise<readonly number[]> => [
      await statusWith(key, '/v1/models'),
      await statusWith(key, '/v1/responses', post),
      await statusWith(key, '/v1/responses/resp_1'),
      await statusWith(key, '/v1/codex/models'),
      await statusWith(key, '/v1/codex/account'),
      await statusWith(key, '/v1/codex/config'),
      await statusWith(key, '/v1/codex/keys'),
      await statusWith(key, '/v1/codex/keys', { ...post, body: '{"name":"more"}' }),
      await statusWith(key, `/v1/codex/keys/${id}/pause`, { ...post, body: '' }),
    ];
    expect([await tried(infer!), await tried(read!), await tried(admin!)]).toEqual([
      [200, 200, 404, 200, 403, 403, 403, 403, 403],
      [200, 403, 403, 200, 200, 200, 200, 403, 403],
      [200, 403, 403, 200, 200, 200, 200, 200, 200],
    ]);
    expect(await outcome(read!.key)).toBe('403 missing_scope');
    // It has paused itself.
    expect(await outcome(admin!.key)).toBe('401 key_paused');
  });

  it('owns what it stores, also after a rotation, and sees nothing of others', async () => {
    const [one, two] = [await make({ name: 'one' }), await make({ name: 'two' })];
    const { id } = await clientOf(one.key).responses.create(ask);
    const rotated = (await act('POST', `/${one.id}/rotate`, { overlap_seconds: 0 })).body as Made;
    expect(rotated).toEqual({
      ...one,
      key: rotated.key,
      hint: `sk-proxy-…${rotated.key.slice(-4)}`,
      last_used_at: rotated['last_used_at'],
    });
    expect(await outcome(one.key)).toBe('401 key_expired');
    expect((await clientOf(rotated.key).responses.retrieve(id)).id).toBe(id);
    await expect(clientOf(two.key).responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it('has an overlap when it is rotated', async () => {
    const made = await make({ name: 'overlap' });
    const rotated = (await act('POST', `/${made.id}/rotate`)).body as Made;
    expect([await outcome(made.key), await outcome(rotated.key)]).toEqual([HELLO, HELLO]);
    expect(await act('POST', `/${made.id}/rotate`, { overlap: 5 })).toMatchObject({
      status: 400,
      body: { error: { param: 'overlap', message: "Unknown parameter: 'overlap'." } },
    });
  });

  it('is paused, resumed, and revoked for good', async () => {
    const made = await make({ name: 'short' });
    expect(await act('POST', `/${made.id}/pause`)).toMatchObject({ status: 200, body: { status: 'paused' } });
    expect(await outcome(made.key)).toBe('401 key_paused');
    expect(await act('POST', `/${made.id}/resume`)).toMatchObject({ body: { status: 'active' } });
    expect(await outcome(made.key)).toBe(HELLO);
    expect(await act('POST', `/${made.id}`, { note: 'later' })).toMatchObject({ body: { note: 'later' } });
    expect(await act('DELETE', `/${made.id}`)).toMatchObject({ status: 200, body: { status: 'revoked' } });
    expect(await outcome(made.key)).toBe('401 key_revoked');
    expect(await act('POST', `/${made.id}/resume`)).toMatchObject({
      status: 409,
      body: { error: { code: 'key_already_revoked' } },
    });
    expect(await act('GET', '/key_1')).toMatchObject({
      status: 404,
      body: { error: { code: 'unknown_key' } },
    });
  });

  it('expires', async () => {
    const expiresAt = Math.floor(Date.now() / 1000) + 4;
    const made = await make({ name: 'brief', expires_at: expiresAt });
    await expect.poll(() => outcome(made.key), { timeout: 20_000, interval: 100 }).toBe('401 key_expired');
    expect(await act('GET', `/${made.id}`)).toMatchObject({
      body: { status: 'expired', expires_at: expiresAt },
    });
  });

  it('works only from its addresses, as a trusted proxy reports them', async () => {
    const { key, id } = await make({ name: 'office', addresses: ['192.0.2.0/24'] });
    const from = (address: string): Promise<number> =>
      statusWith(key, '/v1/models', { headers: { 'x-forwarded-for': address } });
    expect([await from('192.0.2.9'), await from('192.0.2.9, 203.0.113.5')]).toEqual([200, 403]);
    expect(await outcome(key)).toBe('403 address_not_allowed');
    expect(proxy.log).toContainEqual(
      expect.objectContaining({
        keyId: id,
        address: '203.0.113.5',
        msg: 'key rejected: the address is not allowed',
      }),
    );
  });

  it('is unknown with another secret, and the error does not say more', async () => {
    expect(await outcome(`sk-proxy-${'A'.repeat(43)}`)).toBe('401 invalid_api_key');
  });

  it('is checked again for every response of a WebSocket', async () => {
    const { id, key } = await make({ name: 'socket' });
    const socket = await openSocket({ url: proxy.url, key });
    const tried = async (): Promise<unknown> => {
      const { type, error } = await socket.create(ask);
      return type === 'error' ? (error as JsonObject)['code'] : type;
    };
    const after = async (fields: object): Promise<unknown> => {
      expect(await act('POST', `/${id}`, fields)).toMatchObject({ status: 200 });
      return tried();
    };
    expect([
      await tried(),
      await after({ scopes: ['read'] }),
      await after({ scopes: ['infer'], addresses: ['192.0.2.1'] }),
      await after({ addresses: [] }),
    ]).toEqual(['response.completed', 'missing_scope', 'address_not_allowed', 'response.completed']);
    await act('POST', `/${id}/rotate`, { overlap_seconds: 0 });
    expect(await tried()).toBe('key_expired');
    socket.ws.close();
  });

  it('may finish the answer that runs when it is revoked', async () => {
    const { id, key } = await make({ name: 'stream' });
    proxy.use(slow());
    const stream = await clientOf(key).responses.create({ ...ask, stream: true });
    const types: string[] = [];
    for await (const { type } of stream) {
      if (types.length === 0) await act('DELETE', `/${id}`);
      types.push(type);
    }
    proxy.use(hello);
    expect(types.at(-1)).toBe('response.completed');
    expect(await outcome(key)).toBe('401 key_revoked');
  });
});

it('writes no secret of a named key to the log', async () => {
  const { key } = await make({ name: 'logged' });
  expect(await outcome(key)).toBe(HELLO);
  expect(JSON.stringify(proxy.log)).not.toContain(key);
});
