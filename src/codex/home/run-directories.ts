import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';

/**
 * The names of directories that live as long as a process of ours: `<pid>-<created ms>-<random>`. When
 * we are killed nobody removes them; the next start does, by asking whether the process still lives.
 */
export const runDirectoryName = (pid: number, nowMs: number): string =>
  `${pid}-${nowMs}-${randomBytes(4).toString('hex')}`;

export interface Liveness {
  readonly ownPid: number;
  readonly ownStartMs: number;
  readonly isAlive: (pid: number) => boolean;
}

/**
 * Our own pid counts as dead if the directory is older than we are: in a container every start may
 * have the same pid.
 */
export const isStale = (name: string, { ownPid, ownStartMs, isAlive }: Liveness): boolean => {
  const [, pid, created] = /^(\d+)-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
  if (pid === undefined || created === undefined) return false;
  if (Number(pid) === ownPid) return Number(created) < ownStartMs;
  return !isAlive(Number(pid));
};

const thisProcess = (): Liveness => ({
  ownPid: process.pid,
  // The clock may have been set since: a second of doubt is in favour of the directory.
  ownStartMs: Date.now() - process.uptime() * 1000 - 1000,
  isAlive: (pid) => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      // Someone else's process (EPERM) lives too.
      return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
    }
  },
});

/** Removes what dead processes left. Several processes may share the parent directory. */
export const sweepRunDirectories = async (parent: string): Promise<void> => {
  const liveness = thisProcess();
  const stale = (await readdir(parent)).filter((name) => isStale(name, liveness));
  await Promise.all(stale.map((name) => rm(path.join(parent, name), { recursive: true, force: true })));
};
