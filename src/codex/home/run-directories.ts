import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type FileLock, lockIfPresent, lockNewFile } from './file-lock.ts';
import { exists, makePrivateDirectory } from './files.ts';

/**
 * A directory that lives as long as we need it, and no longer than our process. Beside each,
 * `<name>.lock` is locked while it is in use. When we are killed nobody removes them; the next start
 * does, of those whose lock it can take. Several processes may share the parent, also ones that do not
 * see each other's pids.
 */
export interface RunDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

/** The second form is of versions that asked for the pid. */
const OURS = /^(home-[0-9a-f]{16}|\d+-\d+-[0-9a-f]+)(\.lock)?$/;

const lockFileOf = (directory: string): string => `${directory}.lock`;

/** The lock first, then the directory: one without a lock file is nobody's. */
export const createRunDirectory = async (parent: string): Promise<RunDirectory> => {
  // Somebody may have emptied the state directory while we run.
  await makePrivateDirectory(parent);
  const { directory, lock } = await newName(parent);
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    await removeBoth(directory, lock);
    throw error;
  }
  return { path: directory, remove: () => removeBoth(directory, lock) };
};

const ATTEMPTS = 3;

/**
 * A name of which we hold the lock. Null: this file system has no locks. Then nobody can take ours
 * either, so it is never swept, also when it should be.
 */
const newName = async (
  parent: string,
): Promise<{ readonly directory: string; readonly lock: FileLock | null }> => {
  for (let attempt = 1; ; attempt += 1) {
    const directory = path.join(parent, `home-${randomBytes(8).toString('hex')}`);
    const lock = lockNewFile(lockFileOf(directory));
    const isThere = await exists(lockFileOf(directory));
    if (typeof lock !== 'string') {
      if (isThere) return { directory, lock };
      // A sweep came between our making the file and our locking it.
      lock.release();
    } else if (attempt >= ATTEMPTS) {
      if (isThere) return { directory, lock: null };
      // SQLite does not say why it failed; the system does, such as EMFILE or ENOSPC.
      await writeFile(lockFileOf(directory), '', { mode: 0o600 });
      await removeBoth(directory, null);
      throw new Error(`a lock file could not be made in ${parent}`);
    }
    await removeBoth(directory, null);
  }
};

/**
 * Removes what dead processes left. What cannot be asked for its lock stays. `rescue` is called for each
 * directory before its removal.
 */
export const sweepRunDirectories = async (
  parent: string,
  rescue: (directory: string) => Promise<void> = async () => {},
): Promise<void> => {
  const names = (await readdir(parent)).flatMap((name) => OURS.exec(name)?.[1] ?? []);
  await Promise.all(
    [...new Set(names)].map(async (name) => {
      const directory = path.join(parent, name);
      const lock = await lockIfPresent(lockFileOf(directory));
      if (lock === 'taken' || lock === 'unknown') return;
      // A home that cannot be read must not keep the server from starting.
      await rescue(directory).catch(() => {});
      await removeBoth(directory, lock === 'missing' ? null : lock);
    }),
  );
};

const removeBoth = async (directory: string, lock: FileLock | null): Promise<void> => {
  try {
    // codex may still be closing its databases: what appears during the removal is removed as well.
    await rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    // While it is locked: who has just opened it then finds that it is gone. Windows keeps open files.
    await rm(lockFileOf(directory), { force: true }).catch(() => {});
  } finally {
    lock?.release();
  }
  if (process.platform === 'win32') await rm(lockFileOf(directory), { force: true }).catch(() => {});
};
