import { spawnSync } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { TestProxy } from '../support/proxy.ts';
import { randomOf, type Random } from './random.ts';

export type FaultKind = 'kill' | 'stop' | 'burst' | 'full disk';

/** A separate disk, small enough to fill. Null: none can be mounted here. */
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
    // It is already gone, which is fine for a fault.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
};

export interface FaultOptions {
  readonly proxy: TestProxy;
  readonly seed: number;
  /** Null: the disk cannot be filled. */
  readonly disk: string | null;
  /** Average time between two faults. */
  readonly everyMs: number;
  readonly end: AbortSignal;
  /** Sends many additional requests at once. */
  readonly burst: () => Promise<void>;
}

/** Injects one fault after the other until stopped; returns how many of each. */
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
    // First one of each, so that a short run has them all.
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
