/**
 * A new feature is a folder and one line in the list. The drill adds one with a setting, an error, a metric, a table, routes
 * and an observer to a copy of the sources; the recipe in CONTRIBUTING.md describes the same.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { STORE_SCHEMA } from '../../src/compose/open-store.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const run = promisify(execFile);

const FEATURE = `
import { featureErrors } from '../../canonical/failure/failure.ts';
import { row } from '../../canonical/failure/catalogue-row.ts';
import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { wholeNumber } from '../../config/value.ts';
import { counter } from '../../observe/metric-row.ts';
import { shelfStore } from './store.ts';

const failures = {
  shelf_full: row(409, 'The shelf is full.', 'A book more than \`PROXY_SHELF_BOOKS\`.', { final: true }),
};

export const shelfError = featureErrors(failures);

export const SHELF_TABLES = {
  settings: {
    PROXY_SHELF_BOOKS: deployment({
      at: 'state.shelfBooks',
      type: wholeNumber(1, 9),
      default: '1',
      description: 'How many books fit on the shelf.',
    }),
  },
  failures,
  metrics: { shelfRequests: counter('proxy_shelf_requests_total', 'Requests that the shelf has seen.') },
  routes: {
    'GET /v1/codex/shelf': { access: 'key', scopes: ['read'], about: 'The books on the shelf.' },
    'POST /v1/codex/shelf': { access: 'key', scopes: ['admin'], about: 'Puts a book on the shelf.' },
  },
} as const satisfies FeatureTables;

/** A shelf for books. */
export const shelf = feature('shelf', SHELF_TABLES, {
  store: shelfStore,
  open: async (...args) => (await import('./open.ts')).openShelf(...args),
});
`;

const STORE = `
import { read, write, type Query } from '../../store/operation.ts';
import type { StorePart } from '../../store/part.ts';

interface ShelfStore {
  put(title: string): Promise<void>;
  titles(): Promise<readonly string[]>;
}

interface BookTable {
  title: string;
}

type ShelfQuery = Query<{ books: BookTable }>;

export const shelfStore: StorePart<ShelfStore> = {
  name: 'shelf',
  operations: {
    put: write(async ({ db }: ShelfQuery, title: string) => {
      await db.insertInto('books').values({ title }).execute();
    }),
    titles: read(async ({ db }: ShelfQuery) => {
      const rows = await db.selectFrom('books').select('title').execute();
      return rows.map(({ title }) => title);
    }),
  },
  migrations: { NEXT: ({ text }) => [\`create table books (title \${text} not null)\`] },
  tables: { books: { about: 'The books on the shelf.', columns: { title: '' } } },
};
`;

const OPEN = `
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { withStore } from '../../http/route.ts';
import { partOf } from '../../store/part.ts';
import { shelfError, type SHELF_TABLES } from './feature.ts';
import { shelfStore } from './store.ts';

export const openShelf = async (
  { store }: Core,
  { settings, metrics }: Own<typeof SHELF_TABLES>,
): Promise<OpenFeature<typeof SHELF_TABLES>> => {
  const stored = withStore(store === null ? null : { shelf: partOf(store, shelfStore) });
  return {
    observer: { open: () => ({ end: () => metrics.shelfRequests.inc() }) },
    routes: {
      'GET /v1/codex/shelf': stored(async ({ shelf }) => Response.json({ books: await shelf.titles() })),
      'POST /v1/codex/shelf': stored(async ({ shelf, query }) => {
        const titles = await shelf.titles();
        if (titles.length >= settings.shelfBooks) throw shelfError('shelf_full');
        await shelf.put(query.get('title') ?? '');
        return Response.json({ books: await shelf.titles() });
      }),
    },
  };
};
`;

const REQUEST = `
import { startProxy } from './test/support/proxy.ts';
import { hello } from './test/support/scripts.ts';

const proxy = await startProxy(hello);
const put = async (title: string) => {
  const answer = await proxy.send('/v1/codex/shelf?title=' + title, { method: 'POST' });
  return [answer.status, answer.headers.get('x-should-retry'), await answer.json()];
};
const seen = [await put('Emma'), await put('Ulysses'), await (await proxy.get('/v1/codex/shelf')).json()];
const metrics = await (await proxy.get('/metrics')).text();
await proxy.close();
process.stdout.write(JSON.stringify([...seen, /^proxy_shelf_requests_total \\d+/m.exec(metrics)?.[0]]));
process.exit(0);
`;

let copy = '';
const inCopy = (program: string, ...args: readonly string[]): Promise<{ stdout: string }> =>
  run(process.execPath, [path.join(copy, program), ...args], { cwd: copy, maxBuffer: 64 * 1024 * 1024 });

beforeAll(async () => {
  copy = await mkdtemp(path.join(tmpdir(), 'drill-'));
  const folders = ['src', 'test', 'scripts', 'docs', 'bench', 'console', 'bin', 'examples', 'deploy'];
  const files = ['package.json', 'tsconfig.json', 'vitest.config.ts', 'README.md', 'CONTRIBUTING.md'];
  for (const name of [...folders, ...files]) {
    await cp(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  }
  await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'));
  const folder = path.join(copy, 'src/features/shelf');
  await mkdir(folder);
  await writeFile(path.join(folder, 'feature.ts'), FEATURE);
  await writeFile(path.join(folder, 'open.ts'), OPEN);
  const next = String(STORE_SCHEMA.migrations.length + 1);
  await writeFile(path.join(folder, 'store.ts'), STORE.replace('NEXT', next));
  // The one existing file that changes.
  const list = path.join(copy, 'src/compose/features.ts');
  const text = await readFile(list, 'utf8');
  await writeFile(
    list,
    `import { shelf } from '../features/shelf/feature.ts';\n${text.replace(/,?\s*\];/, ', shelf];')}`,
  );
  await writeFile(path.join(copy, 'request.ts'), REQUEST);
});

afterAll(() => rm(copy, { recursive: true, force: true }));

it('compiles and serves: its setting, error, metric, table, routes and observer work', async () => {
  // What imports the feature, and all that this imports.
  const only = { extends: './tsconfig.json', include: ['src/features/shelf', 'src/compose/features.ts'] };
  await writeFile(path.join(copy, 'tsconfig.shelf.json'), JSON.stringify(only));
  await inCopy('node_modules/typescript/bin/tsc', '-p', 'tsconfig.shelf.json', '--incremental', 'false');
  const { stdout } = await inCopy('request.ts');
  expect(JSON.parse(stdout)).toEqual([
    [200, null, { books: ['Emma'] }],
    [409, 'false', { error: expect.objectContaining({ code: 'shelf_full', message: 'The shelf is full.' }) }],
    { books: ['Emma'] },
    expect.stringMatching(/^proxy_shelf_requests_total [1-9]/),
  ]);
});

it('is on the generated pages', async () => {
  await inCopy('scripts/docs.ts', '--write');
  const page = (name: string): Promise<string> => readFile(path.join(copy, 'docs', name), 'utf8');
  expect(await page('configuration.md')).toContain('| `PROXY_SHELF_BOOKS` |');
  expect(await page('errors.md')).toContain('| `shelf_full` |');
  expect(await page('metrics.md')).toContain('| `proxy_shelf_requests_total` |');
  expect(await page('http-api.md')).toContain('Puts a book on the shelf.');
  expect(await page('store-schema.md')).toContain('## `books`');
});
