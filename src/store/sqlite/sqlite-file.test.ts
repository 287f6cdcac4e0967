import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { sql } from 'kysely';
import { afterAll, expect, it } from 'vitest';

import type { StoreSync } from '../store-options.ts';
import { openSqliteFile, type SqliteFile } from './sqlite-file.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'sqlite-file-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** 1: `normal`, 2: `full`. */
const syncOf = async ({ db }: SqliteFile): Promise<number | undefined> => {
  const { rows } = await sql<{ readonly synchronous: number }>`pragma synchronous`.execute(db);
  return rows[0]?.synchronous;
};

it.each([
  { sync: 'full', waits: [2, 1, 2] },
  { sync: 'normal', waits: [1, 1, 1] },
] as const)(
  'with $sync, only the transactions that have to wait for the disk do',
  async ({ sync, waits }) => {
    const file = openSqliteFile(path.join(directory, `${sync satisfies StoreSync}.db`), { busyMs: 1, sync });
    const seen = [await syncOf(file)];
    for (const isRelaxed of [true, false]) {
      file.relax(isRelaxed);
      seen.push(await syncOf(file));
    }
    file.close();
    expect(seen).toEqual(waits);
  },
);
