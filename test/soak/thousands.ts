import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { closeForGood, expectSound } from '../faults/settle.ts';
import { livingPids, startedCount, startWatchedProxy } from '../faults/workers.ts';
import type { TestProxy } from '../support/proxy.ts';
import { runLoad, script } from './load.ts';

/** `SOAK_REQUESTS` sets the number of requests; the bounds are for 2,000. */
const REQUESTS = Number(process.env['SOAK_REQUESTS'] ?? 2_000);
const WARM_UP = 100;
/** A home is filled after so many requests, and its worker replaced while it is busy. */
const FILL_EVERY = 400;
const MAX_HOME_MB = 24;

/**
 * Bounds with headroom over what was measured on two cores (about a minute). While a new worker starts, the
 * old one continues and exceeds its limit; on a slow machine by more, with fewer replacements.
 */
const BOUNDS = {
  /** Measured: 5. */
  replacements: [1, 8],
  /** Measured: 2, the old one and the new one. */
  workersAtOnce: 3,
  /** Measured: 176, of which some 90 at the start. */
  appServerMB: 250,
  /** Measured: 6, mostly the log lines that the test keeps. */
  ownHeapGrowthMB: 30,
  /** Measured: 150, which the garbage collector keeps. */
  ownRssGrowthMB: 350,
  /** Measured: 0. */
  handleGrowth: 10,
} as const;

const MB = 1024 * 1024;

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startWatchedProxy(script, { PROXY_WORKER_MAX_HOME_MB: String(MAX_HOME_MB) });
});
afterAll(() => closeForGood(proxy));

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What our own process holds when idle. */
const ownUse = () => {
  collectGarbage();
  const { heapUsed, rss } = process.memoryUsage();
  return {
    heapMB: heapUsed / MB,
    rssMB: rss / MB,
    handles: process.getActiveResourcesInfo().length,
  };
};

const residentMB = (pid: number): number => {
  try {
    const kb = /^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kb ?? 0) / 1024;
  } catch (error) {
    // It has just been replaced.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw error;
  }
};

/** Its home is its working directory. The file takes no space on the disk. */
const fillHome = (pid: number): void => {
  const file = `/proc/${pid}/cwd/filled`;
  writeFileSync(file, '');
  truncateSync(file, MAX_HOME_MB * MB);
};

const metric = async (name: string): Promise<number> => {
  const page = await (await proxy.get('/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'mu').exec(page)?.[1]);
};

describe('thousands of requests over several app-servers', () => {
  it('none fails, and nothing grows', { timeout: 300_000 }, async () => {
    const peak = { workers: 0, appServerMB: 0 };
    let done = 0;
    const look = (): void => {
      done += 1;
      const workers = proxy.app.workers();
      peak.workers = Math.max(peak.workers, workers.length);
      const [first] = workers;
      if (done % FILL_EVERY === 0 && first !== undefined) fillHome(first.pid);
      if (done % 20 !== 0) return;
      peak.appServerMB = Math.max(peak.appServerMB, ...workers.map(({ pid }) => residentMB(pid)));
    };

    const wrongAtFirst = await runLoad(proxy, (sent) => sent >= WARM_UP, look);
    await expectSound(proxy);
    proxy.use(script);
    const before = ownUse();
    const wrong = await runLoad(proxy, (sent) => sent >= REQUESTS, look);
    await expectSound(proxy);
    const after = ownUse();

    expect([wrongAtFirst, wrong]).toEqual([[], []]);
    const replacements = await metric('proxy_worker_replacements_total');
    expect(replacements).toBeGreaterThanOrEqual(BOUNDS.replacements[0]);
    expect(replacements).toBeLessThanOrEqual(BOUNDS.replacements[1]);
    expect(await metric('proxy_worker_restarts_total')).toBe(0);
    expect(await metric('proxy_turns_active')).toBe(0);
    expect(startedCount()).toBe(1 + replacements);
    expect(livingPids()).toEqual(proxy.app.workers().map(({ pid }) => pid));
    expect(peak.workers).toBeLessThanOrEqual(BOUNDS.workersAtOnce);
    expect(peak.appServerMB).toBeLessThanOrEqual(BOUNDS.appServerMB);
    expect(after.handles - before.handles).toBeLessThanOrEqual(BOUNDS.handleGrowth);
    expect(after.heapMB - before.heapMB).toBeLessThanOrEqual(BOUNDS.ownHeapGrowthMB);
    expect(after.rssMB - before.rssMB).toBeLessThanOrEqual(BOUNDS.ownRssGrowthMB);
  });
});
