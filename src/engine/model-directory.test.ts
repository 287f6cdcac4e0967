import { describe, expect, it } from 'vitest';

import { fail, failure, GatewayError } from '../canonical/failure.ts';
import { RpcError } from '../codex/rpc/errors.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import { createModelDirectory } from './model-directory.ts';

interface Page {
  readonly ids: readonly string[];
  readonly nextCursor: string | null;
}

/** A pool whose app-server lists these pages; everything that was asked is written down. */
const poolOf = (answer: (cursor: unknown) => Page) => {
  const asked: unknown[] = [];
  let leases = 0;
  const pool = {
    async lease() {
      leases += 1;
      return {
        appServer: {
          async request(method: string, params: { cursor?: string }) {
            asked.push([method, params]);
            const { ids, nextCursor } = answer(params.cursor);
            return {
              data: ids.map((id) => ({
                id,
                supportedReasoningEfforts: [{ reasoningEffort: 'low', description: '' }],
                isDefault: id === 'b',
              })),
              nextCursor,
            };
          },
        },
        release() {
          leases -= 1;
        },
      };
    },
  } as unknown as WorkerPool;
  return { pool, asked, openLeases: () => leases };
};

const ONE_PAGE: Page = { ids: ['a', 'b'], nextCursor: null };

describe('createModelDirectory', () => {
  it('reads all pages', async () => {
    const { pool, asked, openLeases } = poolOf((cursor) =>
      cursor === undefined ? { ids: ['a'], nextCursor: 'page-2' } : { ids: ['b'], nextCursor: null },
    );
    const names = await createModelDirectory(pool, { now: () => 0 }).names();
    expect(names.all).toEqual(['a', 'b', 'a-low', 'b-low', 'codex-5', 'codex-5-low']);
    expect(names.resolve('codex-5')).toEqual({ model: 'b', effort: null, listed: true });
    expect(asked).toEqual([
      ['model/list', {}],
      ['model/list', { cursor: 'page-2' }],
    ]);
    expect(openLeases()).toBe(0);
  });

  it('asks again only when what it knows is old', async () => {
    let now = 0;
    const { pool, asked } = poolOf(() => ONE_PAGE);
    const directory = createModelDirectory(pool, { now: () => now });
    await directory.names();
    now = 5 * 60_000 - 1;
    await directory.names();
    expect(asked).toHaveLength(1);
    now += 1;
    await directory.names();
    expect(asked).toHaveLength(2);
  });

  it('asks once for all who ask at the same time', async () => {
    const { pool, asked } = poolOf(() => ONE_PAGE);
    const directory = createModelDirectory(pool, { now: () => 0 });
    const [first, second] = await Promise.all([directory.names(), directory.names()]);
    expect([asked.length, first === second]).toEqual([1, true]);
  });

  it('a refusal of the app-server is a failure of ours, and the worker is given back', async () => {
    const { pool, openLeases } = poolOf(() => {
      throw new RpcError('model/list', { code: -32_603, message: 'no network at /root' });
    });
    const error: unknown = await createModelDirectory(pool, { now: () => 0 })
      .names()
      .catch((one: unknown) => one);
    expect(error instanceof GatewayError && error.failure).toEqual(failure('server_error'));
    expect(openLeases()).toBe(0);
  });

  it('does not remember a failure', async () => {
    let isBroken = true;
    const { pool } = poolOf(() => {
      if (isBroken) throw fail('worker_unavailable');
      return ONE_PAGE;
    });
    const directory = createModelDirectory(pool, { now: () => 0 });
    await expect(directory.names()).rejects.toThrow('No app-server is ready');
    isBroken = false;
    expect((await directory.names()).all).toContain('a');
  });
});
