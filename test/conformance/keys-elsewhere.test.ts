import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, expect, it } from 'vitest';

import { openSocket } from '../support/client-socket.ts';
import { openCommandRoom } from '../support/command.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

/** Named keys that other processes make and take back, and what is left of their secrets. */

const captures = await mkdtemp(path.join(tmpdir(), 'key-captures-'));
const databaseUrl = await (await sharedPostgres()).createDatabase();
const env = { PROXY_DATABASE_URL: databaseUrl, PROXY_CAPTURE_DIR: captures };
const proxy = await openProxy(hello, env);
const fresh = freshProxies();
const room = await openCommandRoom();
afterAll(async () => {
  await room.close();
  await rm(captures, { recursive: true, force: true });
});

const ask = { model: 'gpt-5.5', input: 'hi' };

const askWith = async (key: string, { url }: Pick<TestProxy, 'url'> = proxy): Promise<string> => {
  const answer = await fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(ask),
  });
  const body = (await answer.json()) as { readonly error?: { readonly code: string } | null };
  return `${answer.status} ${body.error?.code ?? 'answered'}`;
};

/** Runs the command in a process of its own, and returns what it printed. */
const commandWith = async (
  settings: Readonly<Record<string, string>>,
  ...words: readonly string[]
): Promise<string> => {
  const running = room.start(['keys', ...words], settings);
  const [code] = await running.exited;
  expect([code, running.output.err]).toEqual([0, expect.any(String)]);
  return running.output.out.trim();
};
const command = (...words: readonly string[]): Promise<string> =>
  commandWith({ PROXY_DATABASE_URL: databaseUrl }, ...words);

it('are made by the command while the server runs, work at once, and end within seconds', async () => {
  const key = await command('create', '--name', 'Ada');
  expect(await askWith(key)).toBe('200 answered');
  const socket = await openSocket({ url: proxy.url, key });
  expect(await socket.create(ask)).toMatchObject({ type: 'response.completed' });
  await command('pause', 'Ada');
  await expect.poll(() => askWith(key), { timeout: 20_000 }).toBe('401 key_paused');
  expect(await socket.create(ask)).toMatchObject({ type: 'error', error: { code: 'key_paused' } });
  await command('resume', 'Ada');
  await expect.poll(() => askWith(key), { timeout: 20_000 }).toBe('200 answered');
  expect(await socket.create(ask)).toMatchObject({ type: 'response.completed' });
  await command('revoke', 'Ada');
  await expect.poll(() => askWith(key), { timeout: 20_000 }).toBe('401 key_revoked');
  expect(await socket.create(ask)).toMatchObject({ type: 'error', error: { code: 'key_revoked' } });
  socket.ws.close();
}, 120_000);

it('are made by the command in the SQLite file of a server, before it starts and while it runs', async () => {
  const before = await commandWith({}, 'create', '--name', 'before');
  const own = await fresh(hello, { PROXY_STATE_DIR: room.stateDir });
  const meanwhile = await commandWith({}, 'create', '--name', 'meanwhile');
  expect([await askWith(before, own), await askWith(meanwhile, own)]).toEqual([
    '200 answered',
    '200 answered',
  ]);
}, 60_000);

it('are made on one instance and used at once on another', async () => {
  const other = await fresh(hello, env);
  for (let count = 0; count < 3; count += 1) {
    const made = await proxy.post('/v1/codex/keys', { name: `both ${count}` });
    const { key } = (await made.json()) as { readonly key: string };
    expect(await askWith(key, other)).toBe('200 answered');
  }
}, 60_000);

it('leave no secret in logs, captures and the database', async () => {
  const made = await proxy.post('/v1/codex/keys', { name: 'hidden' });
  const { key } = (await made.json()) as { readonly key: string };
  for (const headers of [
    { authorization: `Bearer ${key}` },
    { authorization: '', 'x-api-key': key },
    { authorization: '', 'api-key': key },
  ]) {
    const answer = await proxy.post('/v1/responses', ask, { headers });
    expect(answer.status).toBe(200);
    await answer.text();
  }
  await expect.poll(async () => (await readdir(captures)).length).toBeGreaterThan(2);
  const kept = [JSON.stringify(proxy.log)];
  for (const entry of await readdir(captures, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) kept.push(await readFile(path.join(entry.parentPath, entry.name), 'utf8'));
  }
  expect(kept.filter((text) => text.includes(key.slice('sk-proxy-'.length)))).toEqual([]);
  // The codex app-server and the model never see it either.
  const sent = proxy.model.requests.map((request) => JSON.stringify(request));
  expect(sent.filter((text) => text.includes(key.slice('sk-proxy-'.length)))).toEqual([]);
});
