import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

import type { BenchModel } from './model.ts';
import type { ProxySide } from './proxy-side.ts';
import { ms, NO_WORSE, throughput, timeToFirstDelta, warmUp, type Row } from './rows.ts';
import { conversationOf, cpuOfTurns, WORKLOADS, type UsedCpu, type Workload } from './size-rows.ts';
import { median } from './statistics.ts';
import type { Ask } from './workload.ts';

const ROOT = path.join(import.meta.dirname, '..');

/** Another commit of this project in a folder of its own, with its packages. Needs a network. */
export const checkOut = async (revision: string, folder: string): Promise<void> => {
  const run = promisify(execFile);
  const inRoot = { cwd: ROOT };
  const { stdout } = await run('git', ['rev-parse', '--verify', `${revision}^{commit}`], inRoot);
  await run('git', ['clone', '--quiet', '--no-checkout', ROOT, folder], inRoot);
  await run('git', ['checkout', '--quiet', stdout.trim()], { cwd: folder });
  const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', words, { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
};

/** The proxy of another commit and of this one. */
interface Commits {
  readonly bare: ProxySide;
  readonly proxy: ProxySide;
}

const KB_64 = conversationOf({ kb: 64 });
const CPU_ROUNDS = 6;
/** A round is short, so that both commits meet the same other load. */
const ROUND_SHARE = 0.5;

/** Alternates between both commits, so that other load affects both. */
export const compareCommits = async (sides: Commits, model: BenchModel): Promise<readonly Row[]> => {
  await warmUp([sides.bare, sides.proxy], model);
  await model.prepare(200);
  const sized = async (name: string, ask: Ask): Promise<readonly Row[]> =>
    (await timeToFirstDelta(sides, 150, NO_WORSE, ask)).map((row) => ({
      ...row,
      figure: `${name}: ${row.figure}`,
    }));
  const rows = [...(await sized('1 KB', conversationOf({ kb: 1 }))), ...(await sized('64 KB', KB_64))];
  for (const workload of WORKLOADS) rows.push(...(await cpuOf(workload, sides)));
  return [...rows, await throughput(sides, { rounds: 12, requests: 240, atOnce: 16 }, NO_WORSE)];
};

const cpuOf = async (workload: Workload, { bare, proxy }: Commits): Promise<readonly Row[]> => {
  const { name, ask, atOnce = 1 } = workload;
  const turns = Math.round(workload.turns * ROUND_SHARE);
  const used = { bare: [] as UsedCpu[], proxy: [] as UsedCpu[] };
  for (let round = 0; round < CPU_ROUNDS; round += 1) {
    for (const side of round % 2 === 0 ? (['bare', 'proxy'] as const) : (['proxy', 'bare'] as const))
      used[side].push(await cpuOfTurns(side === 'bare' ? bare : proxy, { ask, turns, atOnce }));
  }
  return (['node', 'appServer'] as const).map((part): Row => {
    const [theirs, ours] = [used.bare, used.proxy].map((rounds) => median(rounds.map((one) => one[part])));
    const [before = Number.NaN, now = Number.NaN] = [theirs, ours];
    return {
      figure: `${name}: CPU of ${part === 'node' ? 'our Node process' : 'the app-server'} per turn`,
      bare: ms(before),
      proxy: ms(now),
      ratio: (now / before).toFixed(3),
      target: '',
      reached: true,
      numbers: { turns: CPU_ROUNDS * turns, before, now },
    };
  });
};
