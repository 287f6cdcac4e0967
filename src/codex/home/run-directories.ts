import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { type FileLock, lockIfPresent, lockNewFile } from './file-lock.ts';
import { exists, makePrivateDirectory } from './files.ts';

/**
 * A directory that exists as long as we need it, and no longer than our process. `<name>.lock` next to it is
 * locked while the directory is in use. If we are killed, the next start removes all directories whose lock
 * it can take. Several processes may share the parent, even if they cannot see each other's pids.
 */
export interface RunDirectory {
  readonly path: string;
  remove(): Promise<void>;
}

/** What a directory is for: the CODEX_HOME of an app-server, or the folder of an agent's run. */
export type RunDirectoryKind = 'home' | 'agent';

/** The second form of homes is from versions that used pids. */
const OURS: Readonly<Record<RunDirectoryKind, RegExp>> = {
  home: /^(home-[0-9a-f]{16}|\d+-\d+-[0-9a-f]+)(\.lock)?$/,
  agent: /^(agent-[0-9a-f]{16})(\.lock)?$/,
};

const lockFileOf = (directory: string): string => `${directory}.lock`;

/** Creates the lock first, then the directory: a directory without a lock file has no owner. */
export const createRunDirectory = async (
  parent: string,
  kind: RunDirectoryKind = 'home',
): Promise<RunDirectory> => {
  // The state directory may have been emptied while we run.
  await makePrivateDirectory(parent);
  const { directory, lock } = await newName(parent, kind);
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
 * Creates a name and takes its lock. Null lock: this file system has no locks. No process can take the lock
 * then, so the directory is never swept.
 */
const newName = async (
  parent: string,
  kind: RunDirectoryKind,
): Promise<{ readonly directory: string; readonly lock: FileLock | null }> => {
  for (let attempt = 1; ; attempt += 1) {
    const directory = path.join(parent, `${kind}-${randomBytes(8).toString('hex')}`);
    const lock = lockNewFile(lockFileOf(directory));
    const isThere = await exists(lockFileOf(directory));
    if (typeof lock !== 'string') {
      if (isThere) return { directory, lock };
      // A sweep removed the file between its creation and our lock.
      lock.release();
    } else if (attempt >= ATTEMPTS) {
      if (isThere) return { directory, lock: null };
      // SQLite does not say why it failed; this write does, such as with EMFILE or ENOSPC.
      await writeFile(lockFileOf(directory), '', { mode: 0o600 });
      await removeBoth(directory, null);
      throw new Error(`a lock file could not be made in ${parent}`);
    }
    await removeBoth(directory, null);
  }
};

/**
 * Removes the directories of dead processes. Skips those whose lock cannot be queried. Calls `rescue` for
 * each directory before removing it.
 */
export const sweepRunDirectories = async (
  parent: string,
  rescue: (directory: string) => Promise<void> = async () => {},
  kind: RunDirectoryKind = 'home',
): Promise<void> => {
  const names = (await readdir(parent)).flatMap((name) => OURS[kind].exec(name)?.[1] ?? []);
  await Promise.all(
    [...new Set(names)].map(async (name) => {
      const directory = path.join(parent, name);
      const lock = await lockIfPresent(lockFileOf(directory));
      if (lock === 'taken' || lock === 'unknown') return;
      // An unreadable home must not keep the server from starting.
      await rescue(directory).catch(() => {});
      await removeBoth(directory, lock === 'missing' ? null : lock);
    }),
  );
};

/** Removes a directory in which programs may have made directories read-only, such as caches of packages. */
export const removeTree = async (directory: string): Promise<void> => {
  // codex may still be closing its databases: retry to remove files that appear meanwhile.
  const options = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 };
  try {
    await rm(directory, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    await makeWritable(directory);
    await rm(directory, options);
  }
};

const makeWritable = async (directory: string): Promise<void> => {
  await chmod(directory, 0o700);
  for (const entry of await readdir(directory, { withFileTypes: true }))
    if (entry.isDirectory()) await makeWritable(path.join(directory, entry.name));
};

const removeBoth = async (directory: string, lock: FileLock | null): Promise<void> => {
  try {
    await removeTree(directory);
    // Removed while locked, so that a process that has just opened it finds it gone. Windows keeps open
    // files.
    await rm(lockFileOf(directory), { force: true }).catch(() => {});
  } finally {
    lock?.release();
  }
  if (process.platform === 'win32') await rm(lockFileOf(directory), { force: true }).catch(() => {});
};
