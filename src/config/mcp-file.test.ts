import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { ALL_SETTINGS, loadConfig } from '../compose/features.ts';
import { ConfigError } from './load.ts';
import { type Config, secretsOf } from './schema.ts';

const directory = mkdtempSync(path.join(tmpdir(), 'mcp-file-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = path.join(directory, 'mcp.json');

const loadText = (text: string, environment: Record<string, string> = {}): Config => {
  writeFileSync(file, text);
  return loadConfig({ PROXY_MCP_CONFIG: file, ...environment });
};

const load = (mcpServers: unknown, environment: Record<string, string> = {}): Config =>
  loadText(JSON.stringify({ mcpServers }), environment);

const problemsOf = (run: () => unknown): readonly string[] => {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
};

const at = (text: string): string => `PROXY_MCP_CONFIG: ${file}: ${text}.`;

describe('the file of PROXY_MCP_CONFIG', () => {
  it('names servers of both kinds, with what is left out filled in', () => {
    const { mcpServers } = load({
      files: {
        command: 'node',
        args: ['server.js'],
        env: { ROOT: '/data' },
        cwd: 'work',
        tool_timeout_sec: 5,
      },
      web: {
        type: 'http',
        url: 'https://mcp.example/mcp',
        headers: { 'X-Key': 'k' },
        startup_timeout_sec: 2,
      },
      off: { url: 'https://mcp.example/other', disabled: true },
    });
    expect(mcpServers).toEqual([
      {
        label: 'files',
        transport: {
          kind: 'stdio',
          command: 'node',
          args: ['server.js'],
          env: { ROOT: '/data' },
          cwd: path.join(directory, 'work'),
        },
        startupSeconds: 30,
        callSeconds: 5,
        requireApproval: 'always',
      },
      {
        label: 'web',
        transport: { kind: 'http', url: 'https://mcp.example/mcp', headers: { 'X-Key': 'k' } },
        startupSeconds: 2,
        callSeconds: 120,
        requireApproval: 'always',
      },
    ]);
  });

  it('takes variables from the environment, and says which one is missing', () => {
    const servers = {
      a: {
        command: '${SHELL_OF_MINE:-sh}',
        args: ['${HOME_OF_MINE}/x', '$HOME', '${1}'],
        env: { T: '${TOKEN}' },
      },
      b: { url: 'https://${HOST:-mcp.example}/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } },
    };
    const { mcpServers } = load(servers, { TOKEN: 't0ken', HOME_OF_MINE: '/h' });
    expect(mcpServers.map(({ transport }) => transport)).toEqual([
      { kind: 'stdio', command: 'sh', args: ['/h/x', '$HOME', '${1}'], env: { T: 't0ken' }, cwd: null },
      { kind: 'http', url: 'https://mcp.example/mcp', headers: { Authorization: 'Bearer t0ken' } },
    ]);
    expect(problemsOf(() => load(servers, { HOME_OF_MINE: '/h' }))).toEqual([
      at('`mcpServers.a.env.T` names the variable TOKEN, which is not set'),
      at('`mcpServers.b.headers.Authorization` names the variable TOKEN, which is not set'),
    ]);
  });

  it('has values that are hidden like other secrets', () => {
    const config = load({
      a: { command: 'x', env: { TOKEN: 'env-secret' } },
      b: { url: 'https://h/mcp?key=query-secret', headers: { Authorization: 'Bearer header-secret' } },
    });
    expect(secretsOf(config, ALL_SETTINGS)).toEqual([
      'env-secret',
      'Bearer header-secret',
      'header-secret',
      'query-secret',
    ]);
  });

  it('warns of fields that it does not know', () => {
    expect(load({ a: { command: 'x', url_: 1 }, b: { url: 'http://h', args: [] } }).warnings).toEqual([
      at('`mcpServers.a.url_` is unknown and has no effect'),
      at('`mcpServers.b.args` is unknown and has no effect'),
    ]);
  });

  it.each([
    [
      { 'a b': { command: 'x' } },
      '`mcpServers.a b`: the name of a server has 1 to 64 letters, digits, `_` and `-`',
    ],
    [
      { 'a-b': { command: 'x' }, a_b: { command: 'x' } },
      '`mcpServers.a_b`: the name is too similar to `a-b`: for a model `-` becomes `_`',
    ],
    [{ a: 'x' }, '`mcpServers.a`: must be an object'],
    [{ a: {} }, '`mcpServers.a`: must have one of `command`, `url` and `workspace`'],
    [
      { a: { command: 'x', url: 'http://h' } },
      '`mcpServers.a`: must have one of `command`, `url` and `workspace`',
    ],
    [{ a: { type: 'http', command: 'x' } }, '`mcpServers.a.type` is not that of a server with `command`'],
    [{ a: { type: 'pigeon', url: 'http://h' } }, '`mcpServers.a.type` must be stdio, http or workspace'],
    [
      { a: { type: 'sse', url: 'http://h' } },
      '`mcpServers.a.type` is `sse`, the transport before streamable HTTP, which is not served',
    ],
    [{ a: { command: '' } }, '`mcpServers.a.command` must be a non-empty string'],
    [{ a: { command: 'x', args: 'y' } }, '`mcpServers.a.args` must be an array of strings'],
    [{ a: { command: 'x', env: { A: 1 } } }, '`mcpServers.a.env` must be an object of strings'],
    [
      { a: { command: 'x', tool_timeout_sec: 0 } },
      '`mcpServers.a.tool_timeout_sec` must be a number from 1 to 3600',
    ],
    [{ a: { url: 'ftp://h' } }, '`mcpServers.a.url` is not an http or https URL'],
    [
      { a: { url: 'http://hunter:hunter2@h' } },
      '`mcpServers.a.url` must not contain a user name or a password: send them in a header',
    ],
    [
      { a: { url: 'http://h', headers: { Host: 'x' } } },
      '`mcpServers.a.headers.Host` is a header that cannot be set',
    ],
    [
      { a: { url: 'http://h', headers: { X: 'hunter2\nY: z' } } },
      '`mcpServers.a.headers.X` has a value that no header can carry',
    ],
  ])('refuses %j', (servers, problem) => {
    expect(problemsOf(() => load(servers))).toEqual([at(problem)]);
  });

  it('refuses a file that is not of this form, without quoting it', () => {
    expect(problemsOf(() => loadText('{"mcpServers": hunter2'))).toEqual([
      `PROXY_MCP_CONFIG: ${file} is not valid JSON: see line 1, column 16.`,
    ]);
    expect(problemsOf(() => loadText('[]'))).toEqual([
      `PROXY_MCP_CONFIG: ${file} must be an object with the member \`mcpServers\`, an object.`,
    ]);
    expect(problemsOf(() => loadConfig({ PROXY_MCP_CONFIG: directory }))).toEqual([
      `PROXY_MCP_CONFIG: ${directory} is a folder, not a file.`,
    ]);
    expect(problemsOf(() => loadConfig({ PROXY_MCP_CONFIG: `${file}.not` }))).toEqual([
      `PROXY_MCP_CONFIG: ${file}.not cannot be read: ENOENT.`,
    ]);
    const many = Object.fromEntries(
      Array.from({ length: 65 }, (_, index) => [`s${index}`, { command: 'x' }]),
    );
    expect(problemsOf(() => load(many))).toEqual([at('names more than 64 servers')]);
  });
});
