import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

import { loadDatabases, SQLITE_BUSY } from './file-lock.ts';

/** `logs_2.sqlite` in codex 0.166 and 0.169. */
const LOG_DATABASE = /^logs\w*\.sqlite$/;

/** Rows are dropped without an error, so codex needs not handle one. */
const DROP_ROWS =
  'CREATE TRIGGER IF NOT EXISTS proxy_drops_logs BEFORE INSERT ON logs BEGIN SELECT RAISE(IGNORE); END';

/** codex holds the lock for a few milliseconds, whenever it writes. */
const ATTEMPTS = 10;
const PAUSE_MS = 20;

/**
 * Keeps codex from filling the log database of a home of ours: 43 KB a turn, and one row for each notification, even
 * for those that it does not send. No setting turns it off. codex creates the database, so this must be called after its
 * start. Returns why it had no effect; null: it had. Nothing depends on it but CPU and disk.
 */
export const dropLogRows = async (home: string): Promise<string | null> => {
  try {
    const names = (await readdir(home)).filter((name) => LOG_DATABASE.test(name));
    if (names.length === 0) return 'codex made no log database';
    // An earlier codex may have left one of its own.
    const added = await Promise.allSettled(names.map((name) => addTrigger(path.join(home, name))));
    for (const one of added) if (one.status === 'rejected') throw one.reason;
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const addTrigger = async (file: string): Promise<void> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      // It does not wait for a lock: that would block this thread.
      execute(file, `PRAGMA busy_timeout = 0; PRAGMA synchronous = OFF; ${DROP_ROWS}`);
      return;
    } catch (error) {
      if (attempt >= ATTEMPTS || !isBusy(error)) throw error;
      await sleep(PAUSE_MS);
    }
  }
};

const execute = (file: string, statements: string): void => {
  const existing = pathToFileURL(file);
  existing.searchParams.set('mode', 'rw');
  const database = new (loadDatabases())(existing);
  try {
    database.exec(statements);
  } finally {
    database.close();
  }
};

const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY;
