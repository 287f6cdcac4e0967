import { chmod, mkdtemp, readdir, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { startWorker, type StartWorker } from '../../src/codex/worker/worker.ts';
import { mountDisk } from '../chaos/faults.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { skipCheck } from '../support/skip-check.ts';
import { until } from '../support/until.ts';
import { askWhole } from './client.ts';

interface NextStart {
  /** Started instead of the app-server; null: the app-server itself. */
  binary: string | null;
  /** The start waits for this, so that the disk is full before it begins. */
  after: Promise<void>;
  isWaiting: boolean;
}
const next: NextStart = { binary: null, after: Promise.resolve(), isWaiting: false };
const startNext: StartWorker = async (options) => {
  next.isWaiting = true;
  await next.after;
  next.isWaiting = false;
  return startWorker(next.binary === null ? options : { ...options, binaryPath: next.binary });
};

interface Disk {
  readonly directory: string;
  readonly isMounted: boolean;
  leave(bytes: number): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** A small disk; if none can be mounted, an app-server that exits as on a full one. */
const openDisk = async (): Promise<Disk> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'full-disk-'));
  const mounted = mountDisk(directory);
  const filler = path.join(directory, 'filler');
  const fake = path.join(directory, 'codex');
  return {
    directory,
    isMounted: mounted !== null,
    async leave(bytes) {
      if (mounted === null) {
        skipCheck('a disk is filled: root and `mount`');
        await writeFile(fake, '#!/bin/sh\necho "Error: (code: 13) database or disk is full" >&2\nexit 1\n');
        await chmod(fake, 0o700);
        next.binary = fake;
        return;
      }
      const { bavail, bsize } = await statfs(directory);
      // An app-server may write meanwhile: then the disk is full before the file is.
      await writeFile(filler, Buffer.alloc(bavail * bsize - bytes)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      });
    },
    async free() {
      next.binary = null;
      await rm(filler, { force: true });
    },
    async remove() {
      mounted?.unmount();
      await rm(directory, { recursive: true, force: true });
    },
  };
};

let disk: Disk;
let proxy: TestProxy;
beforeAll(async () => {
  disk = await openDisk();
  const env = { PROXY_STATE_DIR: path.join(disk.directory, 'state') };
  proxy = await startProxy(hello, env, { startWorker: startNext });
});
afterAll(async () => {
  await proxy.close();
  await disk.remove();
});

const homes = async (): Promise<readonly string[]> =>
  (await readdir(path.join(disk.directory, 'state', 'run'))).filter((name) => !name.endsWith('.lock'));
const readyPid = (): number | undefined => proxy.app.workers().find(({ state }) => state === 'ready')?.pid;

describe('a disk that is full when an app-server has to be started', () => {
  it.each([100, 400])('with %s KB left: clients get an error, and it recovers', async (kilobytes) => {
    await until(() => readyPid() !== undefined);
    // The homes of earlier workers must be removed first.
    await until(() => proxy.app.workers().length === 1);
    const pid = readyPid() ?? 0;
    const filled = Promise.withResolvers<void>();
    next.after = filled.promise;
    process.kill(pid, 'SIGKILL');
    // The home of the killed one is gone, and only that of the next one is there: nothing frees space later.
    await until(async () => next.isWaiting && (await homes()).length === 1);
    await disk.leave(kilobytes * 1024);
    filled.resolve();
    const { status, body, retryAfter } = await askWhole(proxy);
    expect({ status, body, hasRetryAfter: Number(retryAfter) >= 1 }).toEqual({
      status: 503,
      body: {
        error: {
          message:
            'The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
          type: 'server_error',
          param: null,
          code: 'worker_unavailable',
        },
      },
      hasRetryAfter: true,
    });
    await disk.free();
    await until(() => readyPid() !== undefined);
    expect((await askWhole(proxy)).status).toBe(200);
  });
});

describe('a disk that is full when a key is paused or revoked', () => {
  const fill = async (): Promise<void> => {
    await disk.leave(0);
    // The log of the database may have some room left.
    const items = [{ role: 'user', content: 'x'.repeat(8_000) }];
    await until(async () => (await proxy.post('/v1/conversations', { items })).status === 503);
  };

  it('the key stops working at once, and it is written later', async () => {
    if (!disk.isMounted) return skipCheck('a disk is filled: root and `mount`');
    const make = async () =>
      (await (await proxy.post('/v1/codex/keys', { name: 'leaked' })).json()) as { id: string; key: string };
    const use = async ({ key }: { readonly key: string }) => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${proxy.url}/v1/models`, { headers });
      return { status: answer.status, body: (await answer.json()) as { error?: { code: string } } };
    };
    const [paused, revoked] = [await make(), await make()];
    await fill();
    const warning = expect.stringMatching(
      /^This server refuses the key from now on, but could not store that yet/,
    ) as string;
    const pausing = await proxy.post(`/v1/codex/keys/${paused.id}/pause`, {});
    expect(pausing.status).toBe(202);
    expect(await pausing.json()).toMatchObject({ status: 'paused', warning });
    const revoking = await proxy.send(`/v1/codex/keys/${revoked.id}`, { method: 'DELETE' });
    expect(revoking.status).toBe(202);
    expect(await revoking.json()).toMatchObject({ status: 'revoked', warning });
    expect(await use(paused)).toMatchObject({ status: 401, body: { error: { code: 'key_paused' } } });
    expect(await use(revoked)).toMatchObject({ status: 401, body: { error: { code: 'key_revoked' } } });
    await disk.free();
    const written = () => proxy.log.filter(({ msg }) => msg === 'change of a key written').length;
    await until(() => written() === 2);
    const shown = await proxy.get(`/v1/codex/keys/${revoked.id}`);
    expect(await shown.json()).toMatchObject({ status: 'revoked' });
    expect((await use(revoked)).status).toBe(401);
  });
});
