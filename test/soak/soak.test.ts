import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { closeForGood, expectSound } from '../faults/settle.ts';
import { startWatchedProxy } from '../faults/workers.ts';
import type { TestProxy } from '../support/proxy.ts';
import { runLoad, script } from './load.ts';

/**
 * A busy app-server uses more than this, so it is replaced as soon as it is old enough: after five seconds.
 */
const MAX_RSS_MB = 120;
/** A limit if it never is. */
const MOST_REQUESTS = 3_000;

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startWatchedProxy(script, { PROXY_WORKER_MAX_RSS_MB: String(MAX_RSS_MB) });
});
afterAll(() => closeForGood(proxy));

describe('an app-server that is replaced under load', () => {
  it('fails no request of any kind, and leaves nothing behind', { timeout: 120_000 }, async () => {
    const count = (name: string): number => proxy.log.filter((line) => line['msg'] === name).length;
    const wrong = await runLoad(proxy, (sent) => count('worker-stopped') > 0 || sent >= MOST_REQUESTS);
    await expectSound(proxy);
    expect({ wrong, isReplaced: count('worker-stopped') > 0, lost: count('worker-lost') }).toEqual({
      wrong: [],
      isReplaced: true,
      lost: 0,
    });
  });
});
