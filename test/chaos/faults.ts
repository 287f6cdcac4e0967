import { spawnSync } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { TestProxy } from '../support/proxy.ts';
import { randomOf, type Random } from './random.ts';

export type FaultKind = 'kill' | 'stop' | 'burst' | 'full disk';

/** A disk of our own, small enough to be filled. Null: none can be mounted here. */
export const mountDisk = (directory: string): { unmount(): void } | null => {
  if (process.getuid?.() !== 0) return null;
  const options = ['-t', 'tmpfs', '-o', 'size=96m,mode=700', 'tmpfs', directory];
  if (spawnSync('mount', options).status !== 0) return null;
  return { unmount: () => void spawnSync('umount', ['-l', directory]) };
};

const fillDisk = async (stateDir: string, forMs: number): Promise<void> => {
  const filler = path.join(stateDir, 'filler');
  const chunk = Buffer.alloc(4 * 1024 * 1024);
  try {
    for (;;) await appendFile(filler, chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
  await sleep(forMs);
  await rm(filler, { force: true });
};

export const signalWorker = (proxy: TestProxy, random: Random, signal: 'SIGKILL' | 'SIGSTOP'): boolean => {
  const [first, ...rest] = proxy.app.workers();
  if (first === undefined) return false;
  try {
    return process.kill(random.pick([first, ...rest]).pid, signal);
  } catch (error) {
    // It is gone already, which is what a fault may do.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

export interface FaultOptions {
  readonly proxy: TestProxy;
  readonly seed: number;
  /** Null: the disk cannot be filled. */
  readonly disk: string | null;
  /** How long it is quiet between two, on average. */
  readonly everyMs: number;
  readonly end: AbortSignal;
  /** Many requests at once, beside the others. */
  readonly burst: () => Promise<void>;
}

/** Does one harm after the other until it is told to end; tells how many of each. */
export const runFaults = async (options: FaultOptions): Promise<Readonly<Record<FaultKind, number>>> => {
  const { proxy, seed, disk, everyMs, end } = options;
  const counts: Record<FaultKind, number> = { kill: 0, stop: 0, burst: 0, 'full disk': 0 };
  const kinds: [FaultKind, ...FaultKind[]] = ['kill', 'stop', 'burst'];
  if (disk !== null) kinds.push('full disk');
  const bursts: Promise<void>[] = [];
  for (let index = 0; !end.aborted; index += 1) {
    const random = randomOf(seed, `fault ${index}`);
    await sleep(random.between(everyMs / 2, everyMs * 1.5), undefined, { signal: end }).catch(() => {});
    if (end.aborted) break;
    // The first ones are one of each, so that a short storm has them all.
    const kind = kinds[index] ?? random.pick(kinds);
    let isDone = true;
    if (kind === 'kill' || kind === 'stop') {
      const signal = kind === 'kill' ? 'SIGKILL' : 'SIGSTOP';
      // After an earlier fault there may be no app-server yet.
      while (!(isDone = signalWorker(proxy, random, signal)) && !end.aborted) await sleep(50);
    } else if (kind === 'burst') bursts.push(options.burst());
    else if (disk !== null) await fillDisk(disk, random.between(200, 2_000));
    if (isDone) counts[kind] += 1;
  }
  await Promise.all(bursts);
  return counts;
};
