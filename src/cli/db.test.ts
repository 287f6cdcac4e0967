import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { systemAmbient } from '../kit/ambient.ts';
import { openStore, STORE_SCHEMA } from '../compose/open-store.ts';
import type { Store } from '../store/store.ts';
import { stateStoreOf } from '../features/state/store/state-store.ts';
import { sharedPostgres } from '../../test/support/postgres.ts';
import { runCommandLine } from './run.ts';

const KEYS = ['0a'.repeat(32), '0b'.repeat(32)] as const;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'db-command-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** Runs the command. A database that is opened is that of `state` or `url`. */
const run = async (
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  flags = '',
) => {
  const said = { out: '', err: '', progress: [] as string[] };
  const world = {
    environment: { HOME: directory, PROXY_STATE_DIR: directory, INIT_CWD: directory, ...environment },
    out: (text: string) => void (said.out += text),
    say: (text: string) => void (said.err += text),
    confirm: async () => null,
    progress: (text: string) => {
      said.progress.push(text);
      return {
        show: (next: string) => void said.progress.push(next),
        end: () => void said.progress.push('end'),
      };
    },
  };
  const line = {
    kind: 'run',
    command: 'db',
    flags: new Map(flags === '' ? [] : [[flags, '']]),
    words,
  } as const;
  return { code: await runCommandLine(line, world), ...said };
};

const open = (keys: readonly string[], databaseUrl: string | null = null): Promise<Store> =>
  openStore({
    databaseUrl,
    file: path.join(directory, 'state.db'),
    keys,
    timeoutMs: 30_000,
    clock: systemAmbient.clock,
  });

const NOW = systemAmbient.clock.now();

/** One turn with a response, and a value that has expired. */
const fill = async (store: Store, key: string): Promise<void> => {
  await stateStoreOf(store).turns.commit({
    owner: 'alice',
    onto: { kind: 'new', segment: `seg_${key}`, cacheKey: 'c' },
    turn: { key, body: '[]', itemIds: [] },
    response: {
      id: `resp_${key}`,
      status: 'completed',
      isBackground: false,
      createdAt: 1_700_000_000_000,
      expiresAt: NOW + 1_000_000,
      body: '{}',
    },
    expiresAt: NOW + 1_000_000,
  });
  await store.memory.put('reasoning', key, 'v', 5);
};

describe('db', () => {
  it('prints what a SQLite file contains, while the server has it open', async () => {
    const plain = await open([]);
    await fill(plain, 'one');
    const sealed = await open(KEYS.slice(0, 1));
    await fill(sealed, 'two');
    await plain.close();
    const { code, out, err } = await run(['status'], { PROXY_STORE_KEY: KEYS.toReversed().join(',') });
    const [, size = ''] = /^size +([\d.]+ MB)$/m.exec(out) ?? [];
    const [, keyId = ''] = /\(([\w-]{8})\)$/m.exec(out) ?? [];
    await sealed.close();
    expect({ code, err, out: out.split('\n') }).toEqual({
      code: 0,
      err: '',
      out: [
        `database    SQLite, ${path.join(directory, 'state.db')}`,
        `schema      version ${STORE_SCHEMA.migrations.length}`,
        `size        ${size}`,
        'responses   2',
        'turns       2 in 2 conversations and chains',
        'chats       0',
        'events      0 batches',
        'memory      2 values',
        'keys        0 named keys',
        'requests    0 in the request log',
        'agents      0 saved, 0 sessions with 0 items',
        'expired     2 rows wait for deletion',
        'oldest      2023-11-14T22:13:20.000Z',
        `encryption  4 rows are plain text; 4 rows have an earlier key (${keyId})`,
        '',
      ],
    });
    const unknown = await run(['status'], {}, 'json');
    expect(JSON.parse(unknown.out)).toMatchObject({
      content: {
        encryption: [
          { form: 'plain', keyId: null, rows: 4 },
          { form: 'unknown key', keyId, rows: 4 },
        ],
      },
    });
  });

  it('copies a SQLite file while the server writes, once', async () => {
    const store = await open([]);
    await fill(store, 'one');
    const { progress, ...copied } = await run(['backup', "it's a copy.db"]);
    expect(copied).toEqual({
      code: 0,
      out: '',
      err: `Copied into ${path.join(directory, "it's a copy.db")}.\n`,
    });
    // A slow copy has more lines in between.
    const [before, ...shown] = progress;
    expect([before, ...shown.slice(-2)]).toEqual([
      'copying the database',
      expect.stringMatching(/^copying the database: (0\.\d MB) of \1$/),
      'end',
    ]);
    for (const line of shown.slice(0, -2))
      expect(line).toMatch(/^copying the database: 0\.\d MB of 0\.\d MB$/);
    await fill(store, 'two');
    const copy = path.join(directory, "it's a copy.db");
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const database = new DatabaseSync(copy);
    expect(database.prepare('select id from responses').all()).toMatchObject([{ id: 'resp_one' }]);
    database.close();
    expect(await run(['backup', copy])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`There is already a file ${copy}: name another one, or remove it.`),
    });
    expect(await run(['backup', 'no/such/folder.db'])).toMatchObject({
      code: 1,
      err: expect.stringContaining(`There is no folder ${path.join(directory, 'no/such')}.`),
      progress: ['copying the database', 'end'],
    });
    await store.close();
  });

  it('gives back the space of a SQLite file', async () => {
    const store = await open([]);
    await store.memory.put('reasoning', 'large', 'x'.repeat(2_000_000), NOW + 1_000_000);
    await store.memory.drop('reasoning', ['large']);
    const before = statSync(path.join(directory, 'state.db')).size;
    expect(await run(['vacuum'])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/MB before, .+ MB now/),
      progress: [expect.stringMatching(/^compacting \d+\.\d MB$/), 'end'],
    });
    expect(statSync(path.join(directory, 'state.db')).size).toBeLessThan(Math.max(before, 2_000_000));
    await fill(store, 'after');
    await store.close();
  });

  it('says that there is nothing yet, and makes no file', async () => {
    expect(await run(['status'])).toEqual({
      code: 1,
      out: '',
      err: `Nothing is stored yet: there is no ${path.join(directory, 'state.db')}.\n`,
      progress: [],
    });
    expect(() => statSync(path.join(directory, 'state.db'))).toThrow('ENOENT');
  });

  it('reports a file that is not a database, and one of a newer program', async () => {
    const store = await open([]);
    await store.close();
    const database = new DatabaseSync(path.join(directory, 'state.db'));
    database.exec('insert into schema_version values (99, 0)');
    database.close();
    expect((await run(['status'])).out).toContain(
      `version 99, which is newer than this program (${STORE_SCHEMA.migrations.length})\n`,
    );
    writeFileSync(
      path.join(directory, 'state.db'),
      'not a database, but long enough to be taken for one'.repeat(50),
    );
    expect(await run(['status'])).toMatchObject({ code: 1, err: expect.stringContaining('not a database') });
  });

  it('shows a PostgreSQL database without its password', async () => {
    const url = await (await sharedPostgres()).createDatabase();
    const environment = { PROXY_DATABASE_URL: url };
    expect((await run(['status'], environment)).out).toContain('version 0; the next start');
    const store = await open([], url);
    await fill(store, 'one');
    const shown = url.replace(/:[^:@]+@/, '@');
    const { out } = await run(['status'], environment);
    expect(out).toContain(`database    PostgreSQL, ${shown}\n`);
    expect(out).toContain('turns       1 in 1 conversations and chains\n');
    expect(await run(['backup', 'a b.dump'], environment)).toEqual({
      code: 0,
      out: `pg_dump --format=custom '--file=${path.join(directory, 'a b.dump')}' ${shown}\n`,
      err: '',
      progress: ['copying the database', 'end'],
    });
    expect(await run(['vacuum'], environment)).toMatchObject({ code: 0 });
    await store.close();
    const gone = { PROXY_DATABASE_URL: 'postgres://proxy:hunter2@127.0.0.1:1/x' };
    expect(await run(['status'], gone)).toEqual({
      code: 1,
      out: '',
      err: 'The database of this server is unavailable: it cannot be reached (ECONNREFUSED).\n',
      progress: [],
    });
  });
});
