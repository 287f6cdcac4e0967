import { stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { isMissing } from './files.ts';

/**
 * A lock that the kernel holds for this process and lets go when the process dies, however it dies.
 * Unlike a pid it means the same in every container that shares the file. Node cannot lock a file, but
 * the SQLite in it can: an open exclusive transaction is a byte-range lock, and nothing is written.
 */
export interface FileLock {
  release(): void;
}

/** `taken` also where locks are switched off; `unknown`: the file could not be opened or not be asked. */
export type LockAttempt = FileLock | 'taken' | 'missing' | 'unknown';

/** Kept here, because a database that is collected as garbage would let go of its lock. */
const held = new Set<DatabaseSync>();

const SQLITE_BUSY = 5;

/** Makes the file if it is not there. */
export const lockNewFile = (file: string): LockAttempt => attempt(file);

export const lockIfPresent = async (file: string): Promise<LockAttempt> => {
  try {
    await stat(file);
  } catch (error) {
    return isMissing(error) ? 'missing' : 'unknown';
  }
  const existing = pathToFileURL(file);
  existing.searchParams.set('mode', 'rw');
  return attempt(existing);
};

const attempt = (file: string | URL): LockAttempt => {
  let database: DatabaseSync | null = null;
  try {
    database = new (loadDatabases())(file);
    // A journal in memory: one on disk would be a second file beside the lock.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
      ? 'taken'
      : 'unknown';
  }
  const locked = database;
  held.add(locked);
  return {
    release: () => {
      if (held.delete(locked)) locked.close();
    },
  };
};

type Databases = typeof DatabaseSync;
let databases: Databases | null = null;

/** Node 22 warns that its SQLite is an experiment, on standard error; what we need of it is the lock. */
const loadDatabases = (): Databases => {
  if (databases !== null) return databases;
  const warn = process.emitWarning.bind(process);
  process.emitWarning = () => {};
  try {
    databases = process.getBuiltinModule('node:sqlite').DatabaseSync;
    return databases;
  } finally {
    process.emitWarning = warn;
  }
};
