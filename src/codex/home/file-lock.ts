import { stat } from 'node:fs/promises';
import type { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { isMissing } from './files.ts';

/**
 * A lock that the kernel holds for this process and releases when the process dies. Unlike a pid it works
 * across containers that share the file. Node has no file locks, but its SQLite does: an open exclusive
 * transaction is a byte-range lock, and nothing is written.
 */
export interface FileLock {
  release(): void;
}

/** `taken` also if locks are disabled; `unknown`: the file could not be opened or queried. */
export type LockAttempt = FileLock | 'taken' | 'missing' | 'unknown';

/** Keeps the databases alive: garbage collection would release their locks. */
const held = new Set<DatabaseSync>();

export const SQLITE_BUSY = 5;

/** Creates the file if it does not exist. */
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
    // Journal in memory: one on disk would be a second file next to the lock.
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

/** Loads SQLite without Node 22's warning on stderr that it is experimental. */
export const loadDatabases = (): Databases => {
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
