import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { makeCertificates } from '../chatgpt/certificate.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp, type HttpOptions } from '../support/mcp/http-server.ts';
import { livingProcesses, startedProcesses, stdioEntry } from '../support/mcp/stdio-server.ts';
import { TOOL_NAMES } from '../support/mcp/tools.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';
import { hello } from '../support/scripts.ts';

const files = mcpFiles();
const journal = path.join(files.directory, 'journal');
const certificates = makeCertificates();
const authority = path.join(files.directory, 'authority.pem');
writeFileSync(authority, certificates.authority);

const serve = async (options: HttpOptions = {}) => {
  const server = await startHttpMcp(options);
  afterAll(() => server.close());
  return server;
};

const plain = await serve();
const secure = await serve({ certificates, token: 'secret-token-1', answers: 'json' });
const guarded = await serve({ token: 'secret-token-2' });
const silent = await serve({ mood: 'silent' });

const FILE = files.write({
  'local-tools': stdioEntry({ journal, startDelayMs: 1_200 }),
  plain: { url: plain.url },
  secure: { url: secure.url, headers: { Authorization: 'Bearer ${MCP_TOKEN}' } },
  guarded: { url: guarded.url, headers: { Authorization: 'Bearer wrong-token-3' } },
  silent: { url: silent.url, startup_timeout_sec: 1 },
  dies: stdioEntry({ journal, mood: 'dies' }),
  missing: { command: '/nowhere/at-all' },
});

const SHORT_FILE = files.write({
  secure: { url: secure.url, headers: { Authorization: 'Bearer ${MCP_TOKEN}' } },
  dies: stdioEntry({ journal, mood: 'dies' }),
});

const openWith = (settings: Readonly<Record<string, string>>): Promise<TestProxy> =>
  openProxy(hello, {
    PROXY_MCP_CONFIG: FILE,
    MCP_TOKEN: 'secret-token-1',
    CODEX_CA_CERTIFICATE: authority,
    ...settings,
  });

interface Listed {
  readonly object: string;
  readonly data: readonly { readonly tools: readonly { readonly name: string }[] }[];
}

const brief = ({ tools, ...rest }: { tools: readonly { name: string }[] }) => ({
  ...rest,
  tools: tools.map(({ name }) => name).toSorted(),
});

const ALL = TOOL_NAMES.toSorted();
const ERASE = {
  name: 'erase',
  title: 'Erase it',
  description: 'Says that it destroys something.',
  input_schema: { type: 'object', properties: {}, required: [] },
  output_schema: { type: 'object', properties: { erased: { type: 'boolean' } } },
  annotations: { readOnlyHint: false, destructiveHint: true },
};
const ADD = {
  name: 'add',
  title: null,
  description: 'Adds two numbers.',
  input_schema: {
    type: 'object',
    properties: { a: { type: 'number', maximum: 1000 }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  output_schema: null,
  annotations: { readOnlyHint: true },
};

const well = (server_label: string, transport: string) => ({
  server_label,
  transport,
  status: 'connected',
  error: null,
  tools: ALL,
});
const ill = (server_label: string, transport: string, error: string) => ({
  server_label,
  transport,
  status: 'failed',
  error: `The MCP server '${server_label}' ${error}.`,
  tools: [],
});

describe('GET /v1/mcp/tools', () => {
  it('lists every server, including failed ones', async () => {
    const proxy = await openWith({});
    // Both requests share one lookup.
    const [answer, same] = await Promise.all([proxy.get('/v1/mcp/tools'), proxy.get('/v1/mcp/tools')]);
    const { object, data } = (await answer.json()) as Listed;
    expect([answer.status, object, await same.json()]).toEqual([200, 'list', { object, data }]);
    expect(data.map(brief)).toEqual([
      well('local-tools', 'stdio'),
      well('plain', 'http'),
      well('secure', 'http'),
      ill('guarded', 'http', 'refused the credentials (HTTP 401)'),
      ill('silent', 'http', 'did not answer within 1 s'),
      ill('dies', 'stdio', 'ended before it answered'),
      ill('missing', 'stdio', 'could not be started: No such file or directory (os error 2)'),
    ]);
    expect(data[0]?.tools.find(({ name }) => name === 'erase')).toEqual(ERASE);
    expect(data.map(({ tools }) => tools.find(({ name }) => name === 'add'))).toEqual([
      ...Array.from({ length: 3 }, () => ADD),
      ...Array.from({ length: 4 }, () => undefined),
    ]);
    // No process or session is left, and no token is visible.
    await until(() => livingProcesses(journal).length === 0);
    await until(() => plain.sessions() + secure.sessions() === 0);
    const log = JSON.stringify(proxy.log);
    expect(['secret-token-1', 'wrong-token-3'].filter((token) => log.includes(token))).toEqual([]);
    expect(plain.requests.map(({ path: asked }) => asked).filter((asked) => asked !== '/mcp')).toEqual([]);
  });

  it('starts a process once per lookup', () => {
    // One that runs and one that exits.
    expect(startedProcesses(journal)).toHaveLength(2);
  });

  it('works without the relay, also for https', async () => {
    const proxy = await openWith({ PROXY_WIRE: 'off', PROXY_MCP_CONFIG: SHORT_FILE });
    const { data } = (await (await proxy.get('/v1/mcp/tools')).json()) as Listed;
    expect(data.map(brief)).toEqual([
      well('secure', 'http'),
      ill('dies', 'stdio', 'ended before it answered'),
    ]);
  });

  it('returns an empty list if no server is configured, and requires the key', async () => {
    const proxy = await openProxy(hello);
    const answer = await proxy.get('/v1/mcp/tools');
    expect([answer.status, await answer.json()]).toEqual([200, { object: 'list', data: [] }]);
    expect((await fetch(`${proxy.url}/v1/mcp/tools`)).status).toBe(401);
  });
});
