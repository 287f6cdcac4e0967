import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { dropLogRows } from './log-database.ts';

describe('dropLogRows', () => {
  let home: string;
  beforeEach(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), 'logs-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  const databaseWith = (table: string): DatabaseSync => {
    const database = new DatabaseSync(path.join(home, 'logs_2.sqlite'));
    database.exec(`PRAGMA journal_mode = WAL; ${table}`);
    return database;
  };
  const LOGS = 'CREATE TABLE logs (id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE other (body TEXT)';

  it('drops the rows of an open database without an error, and only those of logs', async () => {
    const database = databaseWith(LOGS);
    const insert = database.prepare("INSERT INTO logs (body) VALUES ('a'), ('b')");
    insert.run();
    const before = database.prepare('SELECT count(*) AS rows FROM logs');
    expect([before.get()?.['rows'], await dropLogRows(home), await dropLogRows(home)]).toEqual([
      2,
      null,
      null,
    ]);
    insert.run();
    database.exec("INSERT INTO other (body) VALUES ('kept')");
    expect([before.get()?.['rows'], database.prepare('SELECT body FROM other').all()]).toEqual([
      2,
      [{ body: 'kept' }],
    ]);
    database.close();
  });

  it('is not kept from one database by another, which an earlier codex left', async () => {
    await writeFile(path.join(home, 'logs_1.sqlite'), 'not a database');
    const database = databaseWith(LOGS);
    expect(await dropLogRows(home)).toBe('file is not a database');
    database.exec("INSERT INTO logs (body) VALUES ('a')");
    expect(database.prepare('SELECT body FROM logs').all()).toEqual([]);
    database.close();
  });

  it('waits for a writer', async () => {
    const database = databaseWith(LOGS);
    database.exec('BEGIN IMMEDIATE');
    setTimeout(() => database.exec('COMMIT'), 30);
    expect(await dropLogRows(home)).toBeNull();
    database.close();
  });

  it('names the reason if a writer does not end', async () => {
    const database = databaseWith(LOGS);
    database.exec('BEGIN IMMEDIATE');
    expect(await dropLogRows(home)).toBe('database is locked');
    database.close();
  });

  it('names the reason if codex has another schema, or no such database', async () => {
    expect(await dropLogRows(home)).toBe('codex made no log database');
    databaseWith('CREATE TABLE entries (body TEXT)').close();
    expect(await dropLogRows(home)).toBe('no such table: main.logs');
    await rm(home, { recursive: true });
    expect(await dropLogRows(home)).toContain('ENOENT');
  });
});
