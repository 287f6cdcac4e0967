import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/features.ts';
import { ConfigError } from './load.ts';
import { type Config, secretsOf } from './schema.ts';

const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'workspaces-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (...parts: readonly string[]): string => path.join(root, ...parts);
for (const folder of ['etc', 'web/src', 'docs', 'state', 'codex', 'tools', 'cache'])
  mkdirSync(at(folder), { recursive: true });
symlinkSync(at('web'), at('link'));
writeFileSync(at('a-file'), '');
const file = at('etc', 'mcp.json');

const load = (mcpServers: unknown, environment: Record<string, string> = {}): Config => {
  writeFileSync(file, JSON.stringify({ mcpServers }));
  return loadConfig({
    PROXY_MCP_CONFIG: file,
    PROXY_STATE_DIR: at('state'),
    CODEX_HOME: at('codex'),
    ...environment,
  });
};

const problemsOf = (mcpServers: unknown): readonly string[] => {
  try {
    load(mcpServers);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

const line = (text: string): string => `PROXY_MCP_CONFIG: ${file}: ${text}.`;

describe('an entry with a workspace', () => {
  it('is a workspace, with usual values for what is left out', () => {
    const { workspaces, mcpServers, warnings } = load({
      web: { workspace: at('web') },
      files: { command: 'node' },
      off: { workspace: '/no/such/folder', disabled: true },
    });
    expect(mcpServers.map(({ label }) => label)).toEqual(['files']);
    expect(warnings).toEqual([]);
    expect(workspaces).toEqual([
      {
        label: 'web',
        path: at('web'),
        configuredPath: at('web'),
        access: 'write',
        network: 'none',
        read: [],
        write: [],
        hide: [],
        git: false,
        env: {},
        requireApproval: 'always',
        runs: 1,
        maxSeconds: 1_800,
        maxModelRequests: 200,
        callSeconds: 600,
      },
    ]);
  });

  it('has all fields of the file, with variables in paths and in values of its environment', () => {
    const { workspaces } = load(
      {
        web: {
          type: 'workspace',
          workspace: '../${PART}',
          access: 'read',
          network: ['Packages.example.com', '*.github.com', '**.example.org'],
          read: [at('tools')],
          write: [`${at('cache')}/`],
          hide: ['.env', './secrets/'],
          git: true,
          env: { TOKEN: '${SECRET}', NODE_ENV: '${MODE:-development}' },
          require_approval: 'never',
          runs: 2,
          max_seconds: 60,
          max_model_requests: 7,
          tool_timeout_sec: 9,
        },
      },
      { PART: 'link', SECRET: 's3cret' },
    );
    expect(workspaces).toEqual([
      {
        label: 'web',
        path: at('web'),
        configuredPath: at('link'),
        access: 'read',
        network: ['packages.example.com', '*.github.com', '**.example.org'],
        read: [at('tools')],
        write: [at('cache')],
        hide: ['.env', 'secrets'],
        git: true,
        env: { TOKEN: 's3cret', NODE_ENV: 'development' },
        requireApproval: 'never',
        runs: 2,
        maxSeconds: 60,
        maxModelRequests: 7,
        callSeconds: 9,
      },
    ]);
  });

  it('has values of variables that are hidden like other secrets', () => {
    const config = load({ web: { workspace: at('web'), env: { TOKEN: '${SECRET}' } } }, { SECRET: 's3cret' });
    expect(secretsOf(config, ALL_SETTINGS)).toContain('s3cret');
  });

  it('warns of unknown fields, and of commands that reach everything', () => {
    const { workspaces, warnings } = load({
      web: { workspace: at('web'), network: 'all', startup_timeout_sec: 3, url_: 1 },
      docs: { workspace: at('docs'), network: [] },
    });
    expect(workspaces.map(({ network }) => network)).toEqual(['all', 'none']);
    expect(warnings).toEqual([
      line('`mcpServers.web.startup_timeout_sec` is unknown and has no effect'),
      line('`mcpServers.web.url_` is unknown and has no effect'),
      line('`mcpServers.web.network` is `all`: commands reach every address, also this machine'),
    ]);
  });

  it('can be in the config file, and see further folders next to that file', () => {
    const config = at('etc', 'config.json');
    mkdirSync(at('etc', 'more'), { recursive: true });
    writeFileSync(
      config,
      JSON.stringify({ mcpServers: { web: { workspace: '../web', read: [at('etc', 'more')] } } }),
    );
    const { workspaces, secretPaths } = loadConfig({ PROXY_CONFIG: config, PROXY_STATE_DIR: at('state') });
    expect(workspaces.map(({ path: folder, read }) => [folder, read])).toEqual([
      [at('web'), [at('etc', 'more')]],
    ]);
    expect(secretPaths).toEqual([config]);
  });

  it.each<readonly [object, string]>([
    [{ workspace: 'x', command: 'y' }, '`mcpServers.a`: must have one of `command`, `url` and `workspace`'],
    [{ workspace: 'x', type: 'stdio' }, '`mcpServers.a.type` is not that of a server with `workspace`'],
    [{ workspace: '' }, '`mcpServers.a.workspace` must be the path of a folder'],
    [{ workspace: '${NO_SUCH_FOLDER:-}' }, '`mcpServers.a.workspace` is empty'],
    [
      { workspace: at('nothing') },
      `\`mcpServers.a.workspace\` names a folder that does not exist: ${at('nothing')}`,
    ],
    [{ workspace: at('a-file') }, `\`mcpServers.a.workspace\` is not a folder: ${at('a-file')}`],
    [
      { workspace: '~/no/such/folder' },
      `\`mcpServers.a.workspace\` names a folder that does not exist: ${path.join(homedir(), 'no/such/folder')}`,
    ],
    [{ workspace: '/' }, '`mcpServers.a.workspace` is /, which contains home directories'],
    [
      { workspace: path.dirname(homedir()) },
      `\`mcpServers.a.workspace\` is ${path.dirname(homedir())}, which contains home directories`,
    ],
    [{ workspace: at() }, `\`mcpServers.a.workspace\` contains the state folder (${at('state')})`],
    [{ workspace: at('state') }, `\`mcpServers.a.workspace\` contains the state folder (${at('state')})`],
    [{ workspace: at('codex') }, `\`mcpServers.a.workspace\` contains the codex home (${at('codex')})`],
    [
      { workspace: '.' },
      `\`mcpServers.a.workspace\` contains the folder of the configuration (${at('etc')})`,
    ],
    [
      { workspace: at('web'), write: [at()] },
      `\`mcpServers.a.write[0]\` contains the state folder (${at('state')})`,
    ],
    [
      { workspace: at('web'), read: [at('nothing')] },
      `\`mcpServers.a.read[0]\` names a folder that does not exist: ${at('nothing')}`,
    ],
    [
      { workspace: at('web'), read: ['src'] },
      '`mcpServers.a.read` must be an array of at most 100 absolute paths',
    ],
    [{ workspace: at('web'), access: 'all' }, '`mcpServers.a.access` must be `write` or `read`'],
    ...[true, '*', ['*'], ['https://a.example'], ['a_b'], ['*.*.example']].map(
      (network) =>
        [
          { workspace: at('web'), network },
          '`mcpServers.a.network` must be false, `all`, or an array of host names such as "packages.example.com" or "*.example.com"',
        ] as const,
    ),
    ...['..', '../x', '/etc', '', '.', './'].map(
      (hide) =>
        [
          { workspace: at('web'), hide: [hide] },
          '`mcpServers.a.hide` must be an array of paths in the workspace, relative to it',
        ] as const,
    ),
    [{ workspace: at('web'), git: 'yes' }, '`mcpServers.a.git` must be true or false'],
    [{ workspace: at('web'), env: { A: 1 } }, '`mcpServers.a.env` must be an object of strings'],
    [{ workspace: at('web'), env: { 'A B': '' } }, '`mcpServers.a.env.A B` is not the name of a variable'],
    [
      { workspace: at('web'), env: { HOME: '/tmp' } },
      '`mcpServers.a.env.HOME` cannot be set: each run has its own',
    ],
    [{ workspace: at('web'), runs: 0 }, '`mcpServers.a.runs` must be a whole number from 1 to 64'],
    [
      { workspace: at('web'), max_seconds: 0.5 },
      '`mcpServers.a.max_seconds` must be a whole number from 1 to 86400',
    ],
    [
      { workspace: at('web'), max_model_requests: '9' },
      '`mcpServers.a.max_model_requests` must be a whole number from 1 to 10000',
    ],
    [
      { workspace: at('web'), tool_timeout_sec: 0 },
      '`mcpServers.a.tool_timeout_sec` must be a number from 1 to 3600',
    ],
  ])('stops the start: %j', (entry, problem) => {
    expect(problemsOf({ a: entry })).toEqual([line(problem)]);
  });

  it('stops the start if it lies in a folder that stays hidden, also by a link', () => {
    mkdirSync(at('state', 'inner'), { recursive: true });
    symlinkSync(at('state', 'inner'), at('disguised'));
    expect(problemsOf({ a: { workspace: at('disguised') } })).toEqual([
      line(`\`mcpServers.a.workspace\` lies in the state folder (${at('state')})`),
    ]);
  });

  it.each([
    [at('web'), at('web')],
    [at('web'), at('web', 'src')],
    [at('web', 'src'), at('web')],
    [at('web'), at('link', 'src')],
  ])('overlaps no other: %s and %s', (one, other) => {
    expect(problemsOf({ a: { workspace: one }, b: { workspace: other } })).toEqual([
      line('`mcpServers.b.workspace` overlaps the workspace `a`'),
    ]);
  });

  it('has no folder that commands could replace with a link', () => {
    const web = { workspace: at('web'), access: 'write' };
    const wrong = (index: number, problem: string) => [line(`\`mcpServers.a.write[${index}]\` ${problem}`)];
    const inner = (folder: string) => `lies in a folder that commands may change anyway (${folder})`;
    mkdirSync(at('cache', 'inner'), { recursive: true });
    mkdirSync(at('disk', 'b'), { recursive: true });
    symlinkSync(at('web'), at('to-web'));
    expect(problemsOf({ a: { ...web, write: [at('web', 'src')] } })).toEqual(wrong(0, inner(at('web'))));
    expect(problemsOf({ a: { ...web, write: [at('to-web', 'src')] } })).toEqual(wrong(0, inner(at('web'))));
    expect(problemsOf({ a: { ...web, write: [at('cache'), at('cache', 'inner')] } })).toEqual(
      wrong(1, inner(at('cache'))),
    );
    expect(problemsOf({ a: { ...web, write: [at('disk')] }, b: { workspace: at('disk', 'b') } })).toEqual(
      wrong(0, `contains the workspace \`b\` (${at('disk', 'b')})`),
    );
    expect(problemsOf({ a: { ...web, access: 'read', write: [at('web', 'src')] } })).toEqual([]);
  });

  it('has no further folder that would show what is hidden by another path', () => {
    const config = `contains the folder of the configuration (${at('etc')})`;
    mkdirSync(at('both', 'b'), { recursive: true });
    symlinkSync(at('both'), at('to-both'));
    symlinkSync(at('etc'), at('to-etc'));
    const web = { workspace: at('web') };
    const of = (more: object, others: object = {}) => problemsOf({ a: { ...web, ...more }, ...others });
    expect(of({ read: [at('etc')] })).toEqual([line(`\`mcpServers.a.read[0]\` ${config}`)]);
    expect(of({ read: [at('to-etc')] })).toEqual([line(`\`mcpServers.a.read[0]\` ${config}`)]);
    expect(of({ write: [at('etc')] })).toEqual([line(`\`mcpServers.a.write[0]\` ${config}`)]);
    const b = { b: { workspace: at('both', 'b') } };
    expect(of({ read: [at('to-both')] }, b)).toEqual([
      line(
        `\`mcpServers.a.read[0]\` is a link to ${at('both')}, which contains the workspace \`b\` (${at('both', 'b')})`,
      ),
    ]);
    // Hidden by their real paths, or named.
    expect(of({ read: [at('both')] }, b)).toEqual([]);
    expect(of({ read: [at('both', 'b')] }, b)).toEqual([]);
  });

  it('has a name that no server has, and counts among the 64', () => {
    expect(problemsOf({ 'a-b': { workspace: at('web') }, a_b: { command: 'x' } })).toEqual([
      line('`mcpServers.a_b`: the name is too similar to `a-b`: for a model `-` becomes `_`'),
    ]);
    const servers = Object.fromEntries(
      Array.from({ length: 64 }, (_, index) => [`s${index}`, { command: 'x' }]),
    );
    expect(problemsOf({ ...servers, web: { workspace: at('web') } })).toEqual([
      line('names more than 64 servers'),
    ]);
  });
});
