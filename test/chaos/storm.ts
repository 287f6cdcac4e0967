import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { expect } from 'vitest';

import { closeForGood } from '../faults/settle.ts';
import { startWatchedProxy } from '../faults/workers.ts';
import type { TestProxy } from '../support/proxy.ts';
import { skipCheck } from '../support/skip-check.ts';
import { MAX_BODY_BYTES, runClient } from './clients.ts';
import { mountDisk, runFaults, type FaultKind } from './faults.ts';
import { expectNoGrowth, settle, type Holdings } from './invariants.ts';
import { plannedModel, type PlannedModel } from './model.ts';
import { planOf } from './plan.ts';

export interface StormOptions {
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  readonly faultEveryMs: number;
  /** Many clients on few cores are slow, and a slow model is not idle. */
  readonly idleTimeoutMs: number;
}

const WORKERS = 2;
const WARM_UP = 60;
/** Multiplies the clients that send at once in a burst. */
const BURST = 3;

/** Lower than in production, so that stops, stalls and retirements are frequent. */
const SETTINGS = {
  PROXY_WORKERS: String(WORKERS),
  PROXY_WORKER_HANG_TIMEOUT_MS: '2000',
  PROXY_MAX_BODY_BYTES: String(MAX_BODY_BYTES),
  PROXY_WORKER_MAX_RSS_MB: '120',
};

interface Tally {
  requests: number;
  /** How they ended: whole, left, or the error code that they got. */
  readonly ends: Record<string, number>;
  readonly wrong: string[];
}

class Storm {
  readonly tally: Tally = { requests: 0, ends: {}, wrong: [] };
  readonly #proxy: TestProxy;
  readonly #model: PlannedModel;
  readonly #seed: number;

  constructor(proxy: TestProxy, model: PlannedModel, seed: number) {
    this.#proxy = proxy;
    this.#model = model;
    this.#seed = seed;
  }

  async one(): Promise<void> {
    const index = this.tally.requests;
    this.tally.requests += 1;
    const plan = planOf(this.#seed, index);
    this.#model.expect(plan);
    const verdict = await runClient(this.#proxy, plan);
    this.#model.forget(plan);
    const end = verdict.kind === 'told' ? verdict.code : verdict.kind;
    this.tally.ends[end] = (this.tally.ends[end] ?? 0) + 1;
    if (verdict.kind !== 'wrong') return;
    const { client, model, ...ask } = plan;
    this.tally.wrong.push(`request ${index} ${JSON.stringify({ ...ask, client, model })}: ${verdict.why}`);
  }

  /** Runs this many clients, each of which sends one request after the other. */
  async run(clients: number, isOver: () => boolean): Promise<void> {
    const client = async (): Promise<void> => {
      while (!isOver()) await this.one();
    };
    await Promise.all(Array.from({ length: clients }, client));
  }

  async burst(clients: number): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.one()));
  }
}

interface Report {
  readonly tally: Tally;
  readonly faults: Readonly<Record<FaultKind, number>>;
  readonly replaced: string;
  readonly before: Holdings;
  readonly after: Holdings;
}

const weather = async (proxy: TestProxy, options: StormOptions, disk: string | null): Promise<Report> => {
  const model = plannedModel();
  const { seed, clients, faultEveryMs } = options;
  // Everything that is loaded or grows only once must exist before the measurement.
  const warmUp = new Storm(proxy, model, seed + 1);
  proxy.use(model.script);
  await warmUp.run(clients, () => warmUp.tally.requests >= WARM_UP);
  const before = await settle(proxy, WORKERS);

  proxy.use(model.script);
  const storm = new Storm(proxy, model, seed);
  const end = AbortSignal.timeout(options.seconds * 1000);
  const burst = () => storm.burst(clients * BURST);
  const [faults] = await Promise.all([
    runFaults({ proxy, seed, disk, everyMs: faultEveryMs, end, burst }),
    storm.run(clients, () => end.aborted),
  ]);
  const lines = (name: string): number => proxy.log.filter((line) => line['msg'] === name).length;
  const replaced = `${lines('worker-worn')} worn, ${lines('worker-ill')} ill, ${lines('worker-lost')} lost`;
  const { tally } = storm;
  tally.wrong.unshift(...warmUp.tally.wrong);
  return { tally, faults, replaced, before, after: await settle(proxy, WORKERS, before) };
};

const inspect = ({ tally, faults, replaced, before, after }: Report, options: StormOptions): void => {
  console.log('chaos:', JSON.stringify({ requests: tally.requests, ends: tally.ends, faults, replaced }));
  console.log('chaos:', JSON.stringify({ before, after }));
  for (const line of tally.wrong) console.log('chaos: wrong:', line);
  // A run without faults or answers proves nothing.
  expect(faults.kill + faults.stop).toBeGreaterThan(0);
  expect(tally.ends['whole'] ?? 0).toBeGreaterThan(tally.requests / 10);
  expectNoGrowth(before, after, options.clients * (1 + BURST));
};

/** Injects all faults at once for a while, then checks what is left. Returns the wrong answers. */
export const runStorm = async (options: StormOptions): Promise<readonly string[]> => {
  console.log(`chaos: seed ${options.seed}, ${options.clients} clients, ${options.seconds} s`);
  const stateDir = await mkdtemp(path.join(tmpdir(), 'chaos-'));
  const disk = mountDisk(stateDir);
  if (disk === null) skipCheck('chaos fills a disk: root and `mount`');
  try {
    const proxy = await startWatchedProxy(plannedModel().script, {
      ...SETTINGS,
      PROXY_UPSTREAM_IDLE_TIMEOUT_MS: String(options.idleTimeoutMs),
      PROXY_STATE_DIR: stateDir,
    });
    let report: Report;
    try {
      report = await weather(proxy, options, disk === null ? null : stateDir);
      inspect(report, options);
    } catch (error) {
      await proxy.close();
      throw error;
    }
    await closeForGood(proxy);
    expect(await readdir(path.join(stateDir, 'run'))).toEqual([]);
    return report.tally.wrong;
  } finally {
    disk?.unmount();
    await rm(stateDir, { recursive: true, force: true });
  }
};
