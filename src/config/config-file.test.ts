import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

import * as fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/features.ts';
import { ConfigError } from './load.ts';
import { type Config, secretsOf } from './schema.ts';
import { fileKeyOf, type SettingRow } from './setting-row.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'config-file-'));
const state = path.join(directory, 'state');
const file = path.join(directory, 'settings.json');
const defaultFile = path.join(state, 'config.json');
afterAll(() => rmSync(directory, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(state, { recursive: true, force: true });
  rmSync(file, { recursive: true, force: true });
  mkdirSync(state, { recursive: true });
});

const loadFile = (content: unknown, env: Record<string, string> = {}): Config => {
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return loadConfig({ PROXY_CONFIG: file, ...env });
};

const problemsOf = (run: () => unknown): readonly string[] => {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

const at = (text: string): string => `Config file ${file}: ${text}`;

const rows = Object.entries(ALL_SETTINGS).filter(([, { environmentOnly }]) => environmentOnly !== true);

const valueOf = (config: Config, { slice, field }: SettingRow): unknown =>
  (config[slice] as Readonly<Record<string, unknown>>)[field];

/** For types that take free text: some values, as text and as JSON. */
const SAMPLES: Partial<Record<string, readonly (readonly [string, unknown])[]>> = {
  CODEX_ACCESS_TOKEN: [
    ['at-0123456789', 'at-0123456789'],
    ['eyJhbGciOiJub25lIn0.e30.c2ln', 'eyJhbGciOiJub25lIn0.e30.c2ln'],
  ],
  PROXY_HOST: [['::1', '::1']],
  PROXY_API_KEY: [
    ['sk-a, sk-b', ['sk-a', 'sk-b']],
    ['sk-a', 'sk-a'],
  ],
  PROXY_CORS_ALLOWED_ORIGINS: [
    ['*,https://Notes.example', ['*', 'https://Notes.example']],
    ['*', '*'],
  ],
  PROXY_TRUSTED_PROXIES: [
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ['::1', '::1'],
  ],
  PROXY_MODEL_ALIASES: [['{"a": "b", "b": "c"}', { a: 'b', b: 'c' }]],
  PROXY_TITLE_MODEL: [['gpt-5.5-low', 'gpt-5.5-low']],
  PROXY_IMAGE_MODEL: [['gpt-5.5-low', 'gpt-5.5-low']],
  PROXY_TOOL_TRANSPORT: [
    ['prose', 'prose'],
    ['llama-*=prose, *=native', ['llama-*=prose', '*=native']],
  ],
  PROXY_UPSTREAM_BASE_URL: [['https://models.example/v1/', 'https://models.example/v1/']],
  PROXY_CHATGPT_BASE_URL: [['https://chat.example', 'https://chat.example']],
  PROXY_UPSTREAM_API_KEY: [['sk,up', 'sk,up']],
  PROXY_EMBEDDINGS_BASE_URL: [['http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/v1']],
  PROXY_EMBEDDINGS_API_KEY: [['sk-embed', 'sk-embed']],
  PROXY_TRANSCRIPTIONS_BASE_URL: [['https://speech.example/v1', 'https://speech.example/v1']],
  PROXY_TRANSCRIPTIONS_API_KEY: [['sk-speech', 'sk-speech']],
  PROXY_DATABASE_URL: [['postgres://h/state', 'postgres://h/state']],
  PROXY_STORE_KEY: [
    ['0a'.repeat(32), '0a'.repeat(32)],
    [`${'0a'.repeat(32)},${'A'.repeat(43)}`, ['0a'.repeat(32), 'A'.repeat(43)]],
  ],
  PROXY_SIGNATURE_KEY: [['0b'.repeat(32), '0b'.repeat(32)]],
  PROXY_UPSTREAM_PARAMS: [
    ['all', 'all'],
    ['temperature,top_p', ['temperature', 'top_p']],
  ],
};

/** A valid value of a setting: as an environment variable, and as JSON. */
const sampleOf = (name: string, row: SettingRow): fc.Arbitrary<readonly [string, unknown]> => {
  const samples = SAMPLES[name];
  if (samples !== undefined) return fc.constantFrom(...samples);
  if (row.type.isPath) return fc.constantFrom(['/srv/x', '/srv/x'], ['~/x', '~/x']);
  const [, min, max] = /whole number from (\d+) to (\d+)/.exec(row.type.allowed) ?? [];
  if (min !== undefined) {
    return fc.integer({ min: Number(min), max: Number(max) }).map((value) => [String(value), value]);
  }
  const [, most] = /^a number from [\d.]+ to (\d+)/.exec(row.type.allowed) ?? [];
  if (most !== undefined) return fc.constantFrom(['0.5', 0.5], [most, Number(most)]);
  const [, words] = /^one of (.+)$/.exec(row.type.allowed) ?? [];
  if (words !== undefined) return fc.constantFrom(...words.split(', ')).map((word) => [word, word]);
  return fc.constantFrom<readonly [string, unknown]>(['true', true], ['1', true], ['false', false]);
};

describe('the config file', () => {
  // The values of this one are files, which must exist.
  it.each(rows.filter(([name]) => name !== 'PROXY_MCP_CONFIG'))(
    'can set %s like the environment',
    (name, row) => {
      fc.assert(
        fc.property(sampleOf(name, row), ([text, json]) => {
          const fromText = loadConfig({ PROXY_STATE_DIR: state, [name]: text });
          const fromFile = loadFile(
            { [fileKeyOf(name)]: json },
            name === 'PROXY_STATE_DIR' ? {} : { PROXY_STATE_DIR: state },
          );
          expect(valueOf(fromFile, row)).toEqual(valueOf(fromText, row));
          expect([fromText.sources[name], fromFile.sources[name]]).toEqual(['environment', 'config file']);
        }),
        { numRuns: 5 },
      );
    },
  );

  it('is `config.json` in the state directory where none is named', () => {
    writeFileSync(defaultFile, '{"port": 1234}');
    const config = loadConfig({ PROXY_STATE_DIR: state });
    expect([config.http.port, config.state.configFile]).toEqual([1234, defaultFile]);
    writeFileSync(file, '{}');
    expect(loadConfig({ PROXY_STATE_DIR: state, PROXY_CONFIG: file }).http.port).toBe(11_435);
  });

  it('is not needed', () => {
    expect(loadConfig({ PROXY_STATE_DIR: path.join(state, 'none') }).state.configFile).toBe(null);
  });

  it('yields to the environment, unless the variable is empty', () => {
    const settings = { port: 1, host: '::1' };
    const config = loadFile(settings, { PORT: '2', PROXY_HOST: ' ' });
    expect(config.http).toMatchObject({ port: 2, host: '::1' });
    expect(config.sources).toMatchObject({
      PORT: 'environment',
      PROXY_HOST: 'config file',
      PROXY_DEMO: 'default',
    });
  });

  it('can name the state directory only where PROXY_CONFIG names the file', () => {
    expect(loadFile({ stateDir: '/srv/state' }).state).toMatchObject({ dir: '/srv/state', configFile: file });
    writeFileSync(defaultFile, '{"stateDir": "/srv/state"}');
    expect(problemsOf(() => loadConfig({ PROXY_STATE_DIR: state }))).toEqual([
      `Config file ${defaultFile}: stateDir: this file is in the state directory itself. Set PROXY_STATE_DIR, or name a config file with PROXY_CONFIG.`,
    ]);
  });

  it('takes relative paths from its own folder', () => {
    const { log, upstream } = loadFile({ captureDir: 'captures', codexHome: '~/.codex' });
    expect(log).toMatchObject({ captureDir: path.join(directory, 'captures') });
    expect(upstream.codexHome).toBe(path.join(homedir(), '.codex'));
  });

  it('lists MCP servers, unless the environment names a file of them', () => {
    const content = { mcpServers: { a: { command: 'x', cwd: 'work', env: { T: '${TOKEN}' } } } };
    const config = loadFile(content, { TOKEN: 't0ken' });
    expect(config.mcpServers).toMatchObject([
      { label: 'a', transport: { cwd: path.join(directory, 'work'), env: { T: 't0ken' } } },
    ]);
    expect(secretsOf(config, ALL_SETTINGS)).toEqual(['t0ken']);
    const other = path.join(directory, 'mcp.json');
    writeFileSync(other, '{"mcpServers": {"b": {"command": "y"}}}');
    const named = loadFile(content, { PROXY_MCP_CONFIG: other });
    expect(named.mcpServers.map(({ label }) => label)).toEqual(['b']);
    expect(loadFile({ mcpConfig: 'mcp.json' }).mcpServers.map(({ label }) => label)).toEqual(['b']);
    expect(problemsOf(() => loadFile({ ...content, mcpConfig: other }, { TOKEN: 't' }))).toEqual([
      at('mcpConfig and mcpServers: use only one of them.'),
    ]);
    expect(problemsOf(() => loadFile(content))).toEqual([
      at('`mcpServers.a.env.T` names the variable TOKEN, which is not set.'),
    ]);
  });

  it('has prices of models', () => {
    const prices = {
      'gpt-5*': { input: 1.25, cached_input: 0.125, output: 10 },
      o3: { input: 2, output: 8 },
    };
    expect(loadFile({ prices }).prices).toEqual({
      'gpt-5*': { input: 1.25, cachedInput: 0.125, output: 10 },
      o3: { input: 2, cachedInput: 2, output: 8 },
    });
  });

  it('has limits of agents', () => {
    expect(loadFile({ agent: { maxTurns: 2, actionTimeoutMs: 5_000 } }).agentLimits).toEqual({
      maxTurns: 2,
      maxQueuedTurns: 16,
      turnTimeoutMs: 3_600_000,
      actionTimeoutMs: 5_000,
      maxSessions: 1_000,
    });
  });

  it('may name its schema, and begin with a byte order mark', () => {
    expect(loadFile(`\uFEFF${JSON.stringify({ $schema: './config.schema.json', port: 5 })}`).http.port).toBe(
      5,
    );
  });

  it.each<readonly [unknown, string]>([
    [{ prot: 1 }, 'unknown key "prot": docs/configuration.md lists the keys.'],
    [{ PROXY_API_KEY: 'hunter2' }, 'unknown key "PROXY_API_KEY": here it is called "apiKey".'],
    [{ config: 'x' }, 'config: can only be set in the environment, as PROXY_CONFIG.'],
    [{ port: '80' }, 'port: "80" is not allowed; allowed is a whole number from 0 to 65535.'],
    [{ port: null }, 'port: null is not allowed; allowed is a whole number from 0 to 65535.'],
    [{ port: 80.5 }, 'port: 80.5 is not allowed; allowed is a whole number from 0 to 65535.'],
    [{ demo: 'true' }, 'demo: "true" is not allowed; allowed is true or false.'],
    [{ captureDir: '' }, 'captureDir: "" is not allowed; allowed is a path (~ is the home directory).'],
    [
      { upstreamApiKey: ['hunter2'] },
      'upstreamApiKey: the value (not shown) is not allowed; allowed is visible ASCII characters without spaces.',
    ],
    [
      { apiKey: 'hunter2,hunter3' },
      'apiKey: the value (not shown) is not allowed; allowed is an array of keys, each of visible ASCII characters without spaces and commas.',
    ],
    [{ prices: [] }, 'prices: must be an object, as in docs/keys.md.'],
    [
      { prices: { 'gpt-5*': { input: 1, output: 2, cache: 0 } } },
      'prices: "gpt-5*" must be an object with input, output and optionally cached_input: what a million tokens cost, from 0 to 1000000.',
    ],
    [{ agent: [] }, 'agent: must be an object.'],
    [
      { agent: { maxTurn: 1 } },
      'agent: unknown key "maxTurn": it has maxTurns, maxQueuedTurns, turnTimeoutMs, actionTimeoutMs, maxSessions.',
    ],
    [
      { agent: { maxTurns: 0, maxSessions: 5 } },
      'agent.maxTurns: 0 is not allowed; allowed is a whole number from 1 to 1000.',
    ],
    [{ mcpServers: [] }, 'mcpServers: must be an object, as in docs/mcp.md.'],
    ['[]', 'must contain a JSON object.'],
  ])('refuses %j', (content, problem) => {
    expect(problemsOf(() => loadFile(content))).toEqual([at(problem)]);
  });

  it.each([
    '{"modelAliases": {"__proto__": "gpt"}}',
    '{"modelAliases": {"a": "a"}}',
    '{"modelAliases": ["a"]}',
  ])('refuses %s', (content) => {
    expect(problemsOf(() => loadFile(content))).toEqual([
      expect.stringContaining('is not allowed; allowed is a JSON object'),
    ]);
  });

  it('reports all of its errors together with those of the environment', () => {
    expect(problemsOf(() => loadFile({ port: -1, prot: 1 }, { PROXY_DEMO: 'yes' }))).toHaveLength(3);
  });

  it('is refused where it cannot be read, without quoting it', () => {
    const refusal = (): readonly string[] => problemsOf(() => loadConfig({ PROXY_CONFIG: file }));
    expect(refusal()).toEqual([`Config file ${file} cannot be read: ENOENT.`]);
    mkdirSync(file);
    expect(refusal()).toEqual([`Config file ${file} is a folder, not a file.`]);
    rmSync(file, { recursive: true });
    execFileSync('mkfifo', [file]);
    expect(refusal()).toEqual([`Config file ${file} is not a regular file.`]);
    rmSync(file);
    writeFileSync(file, '{\n  "apiKey": hunter2\n}');
    expect(refusal()).toEqual([`Config file ${file} is not valid JSON: see line 2, column 13.`]);
    writeFileSync(file, '{\n  "port": 1,\n  "port": 2\n}');
    expect(refusal()).toEqual([`Config file ${file} has a key twice: see line 3, column 3.`]);
    writeFileSync(file, ' '.repeat(1024 * 1024 + 1));
    expect(refusal()).toEqual([`Config file ${file} is larger than 1 MB.`]);
    symlinkSync(path.join(state, 'gone'), defaultFile);
    expect(problemsOf(() => loadConfig({ PROXY_STATE_DIR: state }))).toEqual([
      `Config file ${defaultFile} cannot be read: ENOENT.`,
    ]);
  });

  it.skipIf(process.getuid?.() === 0)(
    'is refused without the right to read it',
    { meta: { needs: 'a user other than root' } },
    () => {
      writeFileSync(file, '{}');
      chmodSync(file, 0);
      expect(problemsOf(() => loadConfig({ PROXY_CONFIG: file }))).toEqual([
        `Config file ${file} cannot be read: EACCES.`,
      ]);
    },
  );
});
