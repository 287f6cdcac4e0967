import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { noProgress } from '../../test/support/no-progress.ts';
import { sharedPostgres } from '../../test/support/postgres.ts';
import { readCommandLine } from './read-command-line.ts';
import { runCommandLine } from './run.ts';
import { fieldsOf, overlapOf } from './keys.ts';

describe('keys', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'keys-command-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const runIn =
    (environment: () => Promise<Readonly<Record<string, string>>>) =>
    async (...words: readonly string[]) => {
      const said = { out: '', err: '' };
      const world = {
        environment: { HOME: directory, ...(await environment()) },
        out: (text: string) => void (said.out += text),
        say: (text: string) => void (said.err += text),
        confirm: async () => null,
        progress: noProgress,
      };
      const code = await runCommandLine(readCommandLine(['keys', ...words]), world);
      return { code, ...said };
    };

  let postgres: Promise<string> | null = null;
  const DATABASES = {
    sqlite: async () => ({ PROXY_STATE_DIR: path.join(directory, 'state') }),
    async postgres() {
      postgres ??= sharedPostgres().then((server) => server.createDatabase());
      return { PROXY_STATE_DIR: path.join(directory, 'other'), PROXY_DATABASE_URL: await postgres };
    },
  };

  const SECRET = /^sk-proxy-[\w-]{43}\n$/;

  describe.each(['sqlite', 'postgres'] as const)('keys in %s', (kind) => {
    const run = runIn(DATABASES[kind]);
    const shown = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
      JSON.parse((await run('show', name, '--json')).out) as Readonly<Record<string, unknown>>;

    it('are made, shown, changed and taken back', async () => {
      expect(await run('list')).toEqual({ code: 0, out: 'There are no named keys.\n', err: '' });
      const made = await run('create', '--name', 'Ada', '--limit', 'tokens/day=5', '--models', 'gpt-*');
      expect(made).toEqual({
        code: 0,
        out: expect.stringMatching(SECRET),
        err: expect.stringMatching(
          /^Created the key "Ada" \(key_[0-9a-f]{32}\)\.\nThe secret is shown only this once\.\n$/,
        ),
      });
      const key = await shown('Ada');
      expect(key).toEqual({
        object: 'codex.key',
        id: expect.stringMatching(/^key_[0-9a-f]{32}$/),
        name: 'Ada',
        note: '',
        hint: `sk-proxy-…${made.out.trim().slice(-4)}`,
        scopes: ['infer'],
        models: ['gpt-*'],
        workspaces: [],
        effort: null,
        addresses: [],
        concurrency: null,
        limits: [{ unit: 'tokens', window: 'day', max: 5, model: null }],
        storage_mb: null,
        status: 'active',
        created_at: expect.any(Number),
        expires_at: null,
        last_used_at: null,
      });
      const id = String(key['id']);
      expect(await run('change', 'Ada', '--note', 'her laptop', '--limit', 'none')).toEqual({
        code: 0,
        out: '',
        err: `The key "Ada" (${id}) was changed.\n`,
      });
      expect(await shown(id)).toEqual({ ...key, note: 'her laptop', limits: [] });
      expect((await run('pause', 'Ada')).err).toBe(`The key "Ada" (${id}) is paused.\n`);
      expect((await run('list')).out).toContain(`Ada   paused  ${String(key['hint'])}  infer`);
      expect(JSON.parse((await run('resume', 'Ada', '--json')).out)).toMatchObject({ id, status: 'active' });
      expect((await run('reset', 'Ada')).err).toBe(`The key "Ada" (${id}) has used nothing of its limits.\n`);
      const rotated = await run('rotate', 'Ada', '--overlap', '0');
      expect(rotated.out).toMatch(SECRET);
      expect(rotated.err).toContain(
        `The key "Ada" (${id}) has a new secret. Earlier ones do not work any more.`,
      );
      expect((await run('revoke', 'Ada')).err).toBe(`The key "Ada" (${id}) was revoked.\n`);
      expect(await run('resume', 'Ada')).toEqual({
        code: 1,
        out: '',
        err: 'This key was revoked, which is final. Create another one.\n',
      });
      expect((await run('show', 'Ada')).out).toContain('status      revoked\n');
    });

    it('are shown as JSON without control characters', async () => {
      const note = '\u009b31m\u001b[2J\u202e';
      const made = await run('create', '--name', 'loud', '--note', note, '--json');
      const { id } = JSON.parse(made.out) as Readonly<Record<string, string>>;
      for (const { out } of [made, await run('show', 'loud', '--json'), await run('list', '--json')]) {
        expect(out).toContain(String.raw`"note": "\u009b31m\u001b[2J\u202e"`);
      }
      expect(await shown('loud')).toMatchObject({ id, note });
    });

    it('say until when they work', async () => {
      expect((await run('create', '--name', 'visitor', '--expires', '2999-01-31')).err).toContain(
        ' It works until 2999-01-31 00:00 UTC.\n',
      );
    });

    it('may have the same name, and are then named by their ids', async () => {
      const ids = [];
      for (let count = 0; count < 2; count += 1) {
        const { out } = await run('create', '--name', 'twin', '--json');
        const { id, key } = JSON.parse(out) as { readonly id: string; readonly key: string };
        expect(`${key}\n`).toMatch(SECRET);
        ids.push(id);
      }
      const { err } = await run('pause', 'twin');
      expect(err).toContain('Several keys have the name "twin": use one of the ids ');
      expect(ids.filter((id) => err.includes(id))).toEqual(ids);
      await run('revoke', ids[0]!);
      expect((await run('pause', 'twin', '--json')).out).toContain(ids[1]);
    });

    it.each([
      [['create'], 'keys create needs --name NAME.'],
      [['change', 'x', '--json'], 'keys change needs a flag for what to change, such as --note or --limit.'],
      [['create', '--name', 'x', '--overlap', '1h'], 'keys create does not accept --overlap.'],
      [['list', '--name', 'x'], 'keys list does not accept --name.'],
      [
        ['create', '--name', 'x', '--scopes', 'root'],
        "Invalid 'scopes[0]': expected one of infer, read, admin.",
      ],
      [['show', 'nothing'], 'There is no key with the id or name "nothing". See keys list.'],
    ])('say what is wrong with %j', async (words, message) => {
      expect(await run(...words)).toEqual({ code: 1, out: '', err: `${message}\n` });
    });
  });

  it('need a store', async () => {
    const run = runIn(async () => ({ PROXY_STATE_DIR: directory, PROXY_STORE: 'off' }));
    expect(await run('create', '--name', 'x')).toEqual({
      code: 1,
      out: '',
      err: 'Named keys are kept in the store of the server, and PROXY_STORE is off.\n',
    });
  });
});

const NOW = Date.UTC(2026, 10, 17, 12);

const read = (flags: Readonly<Record<string, string>>) => fieldsOf(new Map(Object.entries(flags)), NOW);

describe('fieldsOf', () => {
  it('has only what was given', () => {
    expect(read({ json: '' })).toEqual({});
    expect(
      read({
        name: 'Ada',
        note: 'a, b',
        scopes: 'infer, read',
        models: 'gpt-*,o3',
        workspaces: 'web, docs-*',
        effort: 'none',
        addresses: '10.0.0.0/8',
        concurrency: '4',
        storage: '70',
        expires: '2027-01-31',
      }),
    ).toEqual({
      name: 'Ada',
      note: 'a, b',
      scopes: ['infer', 'read'],
      models: ['gpt-*', 'o3'],
      workspaces: ['web', 'docs-*'],
      effort: 'none',
      addresses: ['10.0.0.0/8'],
      concurrency: 4,
      storage_mb: 70,
      expires_at: Date.UTC(2027, 0, 31) / 1000,
    });
  });

  it('removes what restricts a key', () => {
    expect(
      read({
        models: 'any',
        effort: 'any',
        addresses: 'any',
        concurrency: 'any',
        storage: 'any',
        limit: 'none',
        expires: 'never',
      }),
    ).toEqual({
      models: [],
      effort: null,
      addresses: [],
      concurrency: null,
      storage_mb: 0,
      limits: [],
      expires_at: null,
    });
  });

  it('reads all workspaces and none', () => {
    expect(read({ workspaces: 'any' })).toEqual({ workspaces: ['*'] });
    expect(read({ workspaces: 'none' })).toEqual({ workspaces: [] });
  });

  it('reads limits, each with the model after it', () => {
    expect(read({ limit: 'tokens/day=1000000,model=gpt-*,requests/minute=5,cost/5h=0.5,model=o3' })).toEqual({
      limits: [
        { unit: 'tokens', window: 'day', max: 1_000_000, model: 'gpt-*' },
        { unit: 'requests', window: 'minute', max: 5 },
        { unit: 'cost', window: '5h', max: 0.5, model: 'o3' },
      ],
    });
    for (const limit of ['tokens=5', 'model=x', 'tokens/day', '5', 'a/b/c=1'])
      expect(() => read({ limit })).toThrow(`--limit ${limit}: write a limit as tokens/day=1000000`);
  });

  it.each([
    ['30d', NOW + 30 * 86_400_000],
    ['12h', NOW + 12 * 3_600_000],
    ['2w', NOW + 14 * 86_400_000],
    ['2027-01-31T18:00:00+01:00', Date.UTC(2027, 0, 31, 17)],
  ])('reads the expiry %s', (expires, ms) => {
    expect(read({ expires })).toEqual({ expires_at: ms / 1000 });
  });

  it.each(['soon', '30', '2027', '2027-13-01', '2027-02-30', '2027-02-30T12:00:00Z', 'd', '-1d'])(
    'refuses the expiry %j',
    (expires) => {
      expect(() => read({ expires })).toThrow(`--expires ${expires}: write a duration such as 30d`);
    },
  );

  it.each(['2020-01-01', '0d', '2026-11-17T12:00:00Z'])('refuses the expiry %s in the past', (expires) => {
    expect(() => read({ expires })).toThrow(`--expires ${expires}: this is not in the future.`);
  });
});

describe('overlapOf', () => {
  it('is a duration', () => {
    expect([undefined, '0', '90m', '7d'].map(overlapOf)).toEqual([
      {},
      { overlap_seconds: 0 },
      { overlap_seconds: 5_400 },
      { overlap_seconds: 604_800 },
    ]);
    expect(() => overlapOf('long')).toThrow('--overlap long: write a duration such as 24h or 7d');
  });
});
