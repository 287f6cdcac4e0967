import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { mountDisk } from '../chaos/faults.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { ASK, askStream, askWhole, textIn } from './client.ts';

const TIMEOUT_MS = '700';

/** A folder for a proxy whose database the test opens too. */
const stateFolder = async (): Promise<string> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'store-fault-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const idOf = ({ body }: { readonly body: Record<string, unknown> }): string => String(body['id']);
/** Asks until the answer is stored: on a busy machine that may take longer than the store's timeout. */
const askStored = async (ask: () => ReturnType<typeof askWhole>) => {
  let answer = await ask();
  await until(async () => {
    if (answer.body['store'] !== true) answer = await ask();
    return answer.body['store'] === true;
  });
  return answer;
};
const follow = (proxy: TestProxy, id: string) => askWhole(proxy, { ...ASK, previous_response_id: id });
const completed = (frames: Awaited<ReturnType<typeof askStream>>['frames']) =>
  frames
    .filter(({ event }) => event === 'response.completed')
    .map(({ data }) => (JSON.parse(data) as { response: Record<string, unknown> }).response);

describe('a database that cannot be written to', async () => {
  const folder = await stateFolder();
  const proxy = await openProxy(hello, { PROXY_STATE_DIR: folder, PROXY_STORE_TIMEOUT_MS: TIMEOUT_MS });
  const first = await askStored(() => askWhole(proxy));
  const noted = () => proxy.log.filter(({ msg }) => msg === 'an answer could not be stored').length;
  const other = new DatabaseSync(path.join(folder, 'state.db'));
  beforeAll(() => other.exec('BEGIN IMMEDIATE'));
  afterAll(() => other.close());

  it('does not lose the answer, which says that it is not stored', async () => {
    const before = noted();
    const { frames } = await askStream(proxy);
    expect(textIn(frames)).not.toBe('');
    expect(completed(frames)).toMatchObject([{ status: 'completed', store: false }]);
    expect(await askWhole(proxy)).toMatchObject({ status: 200, body: { status: 'completed', store: false } });
    expect(noted() - before).toBe(2);
  });

  it('still serves what it has', async () => {
    expect(await follow(proxy, idOf(first))).toMatchObject({ status: 200, body: { store: false } });
  });

  it('stores again when it can', async () => {
    other.exec('ROLLBACK');
    const next = await askStored(() => follow(proxy, idOf(first)));
    expect(next).toMatchObject({ status: 200, body: { store: true } });
    expect(await follow(proxy, idOf(next))).toMatchObject({ status: 200 });
  });
});

describe('a row that cannot be read', async () => {
  const folder = await stateFolder();
  // Otherwise the conversation would come from memory.
  const proxy = await openProxy(hello, { PROXY_STATE_DIR: folder, PROXY_ITEM_MEMORY_MB: '0' });
  const [first, second] = [await askWhole(proxy), await askWhole(proxy)];
  const other = new DatabaseSync(path.join(folder, 'state.db'));
  afterAll(() => other.close());

  it.each(['jnot json', 'j{"form":1}', 'j{"form":99,"input":[],"output":[]}', ''])(
    'is an error of the requests that need it, and of no others: %j',
    async (body) => {
      other.prepare('UPDATE turns SET body = ? WHERE response_id = ?').run(body, idOf(first));
      expect(await follow(proxy, idOf(first))).toMatchObject({
        status: 500,
        body: { error: { code: 'store_corrupt', message: expect.stringContaining('cannot be read') } },
      });
      expect(await follow(proxy, idOf(second))).toMatchObject({ status: 200 });
    },
  );
});

const mounted = await (async () => {
  const folder = await stateFolder();
  const disk = mountDisk(folder);
  return disk === null ? null : { folder, ...disk };
})();
afterAll(() => mounted?.unmount());

describe.skipIf(mounted === null)('a full disk', { meta: { needs: 'root and `mount`' } }, () => {
  const start = freshProxies();

  it('does not lose the answer, and the store works again when there is space', async () => {
    const folder = mounted?.folder ?? '';
    const proxy = await start(hello, { PROXY_STATE_DIR: folder });
    const first = await askWhole(proxy);
    const filler = path.join(folder, 'filler');
    const { bavail, bsize } = await statfs(folder);
    // The server may take some of it in the meantime.
    await writeFile(filler, Buffer.alloc(bavail * bsize)).catch((error: NodeJS.ErrnoException) =>
      expect(error.code).toBe('ENOSPC'),
    );
    // The log of the database has some room left.
    const long = { ...ASK, input: 'long '.repeat(200_000) };
    expect(await askWhole(proxy, long)).toMatchObject({ status: 200, body: { store: false } });
    expect(await follow(proxy, idOf(first))).toMatchObject({ status: 200 });
    await rm(filler);
    const next = await askWhole(proxy, long);
    expect(next).toMatchObject({ status: 200, body: { store: true } });
    expect(await follow(proxy, idOf(next))).toMatchObject({ status: 200, body: { store: true } });
  });
});

describe('PostgreSQL that is gone for a while', () => {
  let postgres: PostgresServer;
  let proxy: TestProxy;
  beforeAll(async () => {
    postgres = await startPostgres();
    proxy = await startProxy(hello, {
      PROXY_DATABASE_URL: await postgres.createDatabase(),
      // Not shorter: on a busy machine a commit may take a second.
      PROXY_STORE_TIMEOUT_MS: '3000',
    });
  });
  afterAll(async () => {
    await proxy.close();
    await postgres.stop();
  });

  it('fails only requests that need it, and comes back', async () => {
    const first = await askStored(() => askWhole(proxy));
    expect(first).toMatchObject({ status: 200, body: { store: true } });
    await postgres.stop();
    expect(await askWhole(proxy)).toMatchObject({ status: 200, body: { store: false } });
    expect(await follow(proxy, idOf(first))).toMatchObject({
      status: 503,
      body: { error: { code: 'store_unavailable', type: 'server_error' } },
    });
    await postgres.start();
    await until(async () => (await follow(proxy, idOf(first))).status === 200);
    expect(await askStored(() => askWhole(proxy))).toMatchObject({ status: 200, body: { store: true } });
  });

  it('keeps known named keys working, and does not call unknown ones wrong', async () => {
    const made = await proxy.post('/v1/codex/keys', { name: 'known' });
    const { key } = (await made.json()) as { readonly key: string };
    const statusWith = async (bearer: string): Promise<number> =>
      (await proxy.send('/v1/models', { headers: { authorization: `Bearer ${bearer}` } })).status;
    const unknown = `sk-proxy-${'A'.repeat(43)}`;
    expect([await statusWith(key), await statusWith(unknown), await statusWith('wrong')]).toEqual([
      200, 401, 401,
    ]);
    await postgres.stop();
    expect([await statusWith(key), await statusWith(unknown), await statusWith('wrong')]).toEqual([
      200, 503, 401,
    ]);
    await postgres.start();
    await until(async () => (await statusWith(unknown)) === 401);
  });
});
