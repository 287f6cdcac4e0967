import { mkdir, mkdtemp, readdir, readFile, lstat, rm, stat, writeFile } from 'node:fs/promises';
import os, { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findCodexBinary } from '../binary.ts';
import { directLogin, type BackendTarget } from './backend.ts';
import { configToml } from './config-toml.ts';
import { detectLogin, readLoginStatus } from '../login/login.ts';
import { prepareHomes, environmentLogin } from './prepare-home.ts';

describe('prepareHomes', () => {
  const binary = findCodexBinary();
  const certificatesIn = (pem: string): number => pem.split('-----BEGIN CERTIFICATE-----').length - 1;
  const DEMO = { kind: 'demo', baseUrl: 'http://127.0.0.1:1/v1' } as const;

  let scratch: string;
  let stateDir: string;
  const withNamed = (codexHome: string) => ({ ...process.env, CODEX_HOME: codexHome });
  const unnamed = { ...process.env, CODEX_HOME: undefined };
  const mode = async (file: string): Promise<string> => ((await stat(file)).mode & 0o777).toString(8);

  beforeEach(async () => {
    scratch = await mkdtemp(path.join(os.tmpdir(), 'homes-'));
    stateDir = path.join(scratch, 'state');
  });
  afterEach(() => rm(scratch, { recursive: true, force: true }));

  describe('prepareHomes', () => {
    it('creates a private home per worker and removes it completely', async () => {
      const homes = await prepareHomes({ stateDir, binary, environment: unnamed });
      const [first, second] = [await homes.create(DEMO), await homes.create(DEMO)];
      const catalogueFile = path.join(first.path, 'catalog.json');
      expect({
        names: (await readdir(first.path)).toSorted(),
        modes: [
          await mode(first.path),
          await mode(path.join(first.path, 'config.toml')),
          await mode(stateDir),
        ],
        config: await readFile(path.join(first.path, 'config.toml'), 'utf8'),
        codexHome: first.environment['CODEX_HOME'],
        certificates: certificatesIn(await readFile(first.environment['SSL_CERT_FILE'] ?? '', 'utf8')),
        apart: first.path !== second.path,
        sameInstallation:
          (await readFile(path.join(first.path, 'installation_id'), 'utf8')) ===
          (await readFile(path.join(second.path, 'installation_id'), 'utf8')),
        loginHome: homes.loginHome,
      }).toEqual({
        names: ['catalog.json', 'certificate.pem', 'config.toml', 'installation_id'],
        modes: ['700', '600', '700'],
        config: configToml({
          backend: DEMO,
          catalogueFile,
          codexVersion: binary.version,
          allowsFeedback: false,
          untrusted: [],
        }),
        codexHome: first.path,
        certificates: 1,
        apart: true,
        sameInstallation: true,
        loginHome: path.join(stateDir, 'codex'),
      });
      await first.remove();
      await second.remove();
      expect(await readdir(path.join(stateDir, 'run'))).toEqual([]);
    });

    it('shows each account another installation, the same at every start', async () => {
      const idFor = async (account: string): Promise<string> => {
        const homes = await prepareHomes({ stateDir, binary, environment: unnamed });
        const home = await homes.create(directLogin('chatgpt', null, account));
        return readFile(path.join(home.path, 'installation_id'), 'utf8');
      };
      const first = await idFor('a');
      expect(first).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/);
      expect(await idFor('b')).not.toBe(first);
      expect(await idFor('a')).toBe(first);
    });

    it('keeps the certificates if TLS is needed', async () => {
      const environment = { ...unnamed, SSL_CERT_FILE: '/ours.pem' };
      const homes = await prepareHomes({ stateDir, binary, environment });
      const home = await homes.create(directLogin('chatgpt'));
      expect([home.environment['SSL_CERT_FILE'], (await readdir(home.path)).toSorted()]).toEqual([
        '/ours.pem',
        ['catalog.json', 'config.toml', 'installation_id'],
      ]);
    });

    it("caches codex's list of models by version, and replaces a broken cache", async () => {
      const cache = path.join(stateDir, 'codex', `models-${binary.version}.json`);
      const catalogue = async (): Promise<string> => {
        const homes = await prepareHomes({ stateDir, binary, environment: unnamed });
        return readFile(path.join((await homes.create(DEMO)).path, 'catalog.json'), 'utf8');
      };
      const fresh = await catalogue();
      await writeFile(cache, '{"models":[{"slug":"kept"}]}');
      const kept = await catalogue();
      await writeFile(cache, '{"models":[');
      const again = await catalogue();
      expect([kept.includes('"slug":"kept"'), again === fresh, fresh.includes('"slug":"gpt-5.5"')]).toEqual([
        true,
        true,
        true,
      ]);
    });

    it('creates a home for agents, without a login, that trusts none of their folders', async () => {
      const named = path.join(scratch, 'mine');
      const repository = path.join(scratch, 'repo');
      const folder = path.join(repository, 'web');
      await mkdir(named);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(named, 'auth.json'), '{"OPENAI_API_KEY":"sk-test"}');
      const homes = await prepareHomes({
        stateDir,
        binary,
        environment: withNamed(named),
        workDir: '/tmp',
        allowsFeedback: true,
      });
      const home = await homes.createForAgents({
        modelUrl: 'http://127.0.0.1:1/secret/v1',
        entries: [{ slug: 'mine', base_instructions: 'Be kind.' }],
        sandbox: {
          standard: 'nothing',
          profiles: { nothing: { filesystem: { ':minimal': 'read' }, network: { enabled: false } } },
        },
        folders: [folder],
      });
      const config = await readFile(path.join(home.path, 'config.toml'), 'utf8');
      expect((await readdir(home.path)).toSorted()).toEqual([
        'catalog.json',
        'certificate.pem',
        'config.toml',
        'installation_id',
      ]);
      expect(config).toContain('base_url = "http://127.0.0.1:1/secret/v1"');
      expect(config).toContain('[feedback]\nenabled = false');
      for (const one of [folder, repository])
        expect(config).toContain(`[projects.${JSON.stringify(one)}]\ntrust_level = "untrusted"`);
      expect(await readFile(path.join(home.path, 'catalog.json'), 'utf8')).toContain('Be kind.');
      await home.remove();
    });

    it('copies the login of a named CODEX_HOME without writing to it or removing it', async () => {
      const named = path.join(scratch, 'mine');
      await mkdir(named);
      const create = async (backend: BackendTarget) => {
        const homes = await prepareHomes({ stateDir, binary, environment: withNamed(named) });
        return homes.create(backend);
      };
      const before = await create(directLogin('api-key'));
      await writeFile(path.join(named, 'auth.json'), '{"OPENAI_API_KEY":"sk-test"}');
      const after = await create(directLogin('api-key'));
      const elsewhere = await create(DEMO);
      expect([
        (await readdir(before.path)).includes('auth.json'),
        await readFile(path.join(after.path, 'auth.json'), 'utf8'),
        (await lstat(path.join(after.path, 'auth.json'))).isSymbolicLink(),
        // Another backend answers: no request may use this login.
        (await readdir(elsewhere.path)).includes('auth.json'),
      ]).toEqual([false, '{"OPENAI_API_KEY":"sk-test"}', false, false]);
      await after.remove();
      expect(await readdir(named)).toEqual(['auth.json']);
    });
  });

  describe('detectLogin', () => {
    const tokens = { id_token: 'a.e30.c', access_token: 'a.e30.c', refresh_token: 'r', account_id: 'acc' };
    it.each([
      ['an API key', JSON.stringify({ OPENAI_API_KEY: 'sk-test123456789012345' }), 'api-key'],
      ['an empty object, which codex takes for a login', '{}', null],
      ['empty members', '{"OPENAI_API_KEY":null,"tokens":null}', null],
      ['garbage', 'garbage', null],
      ['invalid tokens', JSON.stringify({ tokens: 'x' }), null],
      ['no file', null, null],
      [
        'a ChatGPT login',
        JSON.stringify({ OPENAI_API_KEY: null, tokens, last_refresh: '2026-11-15T00:00:00Z' }),
        'chatgpt',
      ],
    ])('%s', async (_, auth, expected) => {
      const homes = await prepareHomes({ stateDir, binary, environment: unnamed });
      if (auth !== null) await writeFile(path.join(stateDir, 'codex', 'auth.json'), auth);
      expect(await detectLogin(homes)).toBe(expected);
    });
  });

  describe('readLoginStatus', () => {
    it.each([
      [0, 'WARNING: x\nLogged in using ChatGPT\n', 'chatgpt'],
      [0, 'API key configured - sk-te***\nAuthentication is checked when you send a request.', 'api-key'],
      [0, 'Logged in using an API key - sk-te***', 'api-key'],
      [1, 'Not logged in', null],
      [0, 'Not logged in', null],
      [0, 'You are not Logged in using ChatGPT', null],
      [1, 'Logged in using ChatGPT', null],
      [0, 'Logged in using something new', null],
      [0, '', null],
    ])('%i %j', (exitCode, output, expected) => {
      expect(readLoginStatus({ exitCode, output })).toBe(expected);
    });
  });
});

describe('environmentLogin', () => {
  it('passes the token in the environment and writes nothing', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'environment-login-'));
    try {
      const login = environmentLogin('at-0123456789');
      await login.copyInto(dir);
      await login.renewed(null, '{"access_token":"other"}');
      await login.release(dir);
      expect([login.childEnvironment, await readdir(dir), await login.read()]).toEqual([
        { CODEX_ACCESS_TOKEN: 'at-0123456789' },
        [],
        '{"OPENAI_API_KEY":null,"personal_access_token":"at-0123456789"}',
      ]);
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  });

  it('has the same revision for the same token only', async () => {
    const [one, two] = [environmentLogin('at-1'), environmentLogin('eyJ.e30.s')];
    const revision = async (login: typeof one): Promise<string> =>
      login.revisionOf((await login.read()) ?? '');
    expect(await revision(one)).toBe(await revision(environmentLogin('at-1')));
    expect(await revision(one)).not.toBe(await revision(two));
  });
});
