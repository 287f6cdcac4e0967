import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { afterAll, describe, expect, it } from 'vitest';

import { createApp, type App } from '../../src/compose/app.ts';
import { loadConfig } from '../../src/compose/features.ts';
import { createLogger } from '../../src/observe/log.ts';
import { TESTED_CODEX } from '../../src/version.ts';
import { startChatGptProxy } from '../chatgpt/proxy.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { stdioEntry } from '../support/mcp/stdio-server.ts';
import { startProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';

/** codex says what it does not like about a configuration. It must like every one that this server writes. */

const root = await realpath(await mkdtemp(path.join(tmpdir(), 'warnings-')));
afterAll(() => rm(root, { recursive: true, force: true }));
const files = mcpFiles();
const mcpConfig = files.write({ notes: stdioEntry({ journal: path.join(files.directory, 'journal') }) });

const repository = async (): Promise<string> => {
  const folder = path.join(root, 'repository');
  await mkdir(path.join(folder, '.codex'), { recursive: true });
  await promisify(execFile)('git', ['init', '--quiet'], { cwd: folder });
  return folder;
};

/** codex says this on every machine without it. */
const BUBBLEWRAP = /^Codex could not find bubblewrap/;

const NONE = { tested: TESTED_CODEX, runs: TESTED_CODEX, warnings: [] };

const reportOf = (app: App) => {
  const { warnings, ...rest } = app.codex();
  return { ...rest, warnings: warnings.filter((text) => !BUBBLEWRAP.test(text)) };
};

const ask = { model: 'gpt-5.5', input: 'Hello?' };

describe('codex has no warning about the configuration', async () => {
  it.each<readonly [string, Readonly<Record<string, string>>]>([
    ['of a provider', {}],
    ['of a provider without the relay', { PROXY_WIRE: 'off', PROXY_UPSTREAM_API_KEY: 'sk-provider' }],
    ['with feedback', { PROXY_ENABLE_FEEDBACK: 'true' }],
    ['with MCP servers', { PROXY_MCP_CONFIG: mcpConfig }],
    [
      'with a repository that may be written',
      { PROXY_SANDBOX_MODE: 'workspace-write', PROXY_CODEX_WORKDIR: await repository() },
    ],
  ])('%s', async (_, env) => {
    const proxy = await startProxy(hello, env);
    try {
      const tools = 'PROXY_MCP_CONFIG' in env ? { tools: [{ type: 'mcp', server_label: 'notes' }] } : {};
      const answered = await proxy.post('/v1/responses', { ...ask, ...tools });
      expect([answered.status, await answered.text()]).toEqual([200, expect.anything()]);
      expect(reportOf(proxy.app)).toEqual(NONE);
    } finally {
      await proxy.close();
    }
  });

  it.each([
    ['of a ChatGPT login', {}],
    ['of a ChatGPT login without the relay', { PROXY_WIRE: 'off' }],
  ])('%s', async (_, env) => {
    const proxy = await startChatGptProxy({ script: hello, env });
    try {
      expect((await proxy.post('/v1/responses', { ...ask, model: 'gpt-6.1-sol' })).status).toBe(200);
      expect(reportOf(proxy.app)).toEqual(NONE);
    } finally {
      await proxy.close();
    }
  });

  it.each([
    ['of the demo model', null, {}],
    ['of an API key', '{"OPENAI_API_KEY":"sk-login"}', {}],
    ['of an API key without the relay', '{"OPENAI_API_KEY":"sk-login"}', { PROXY_WIRE: 'off' }],
    ['of a server without a backend', null, { PROXY_DEMO: 'false' }],
  ])('%s', async (name, auth, env) => {
    const stateDir = path.join(root, name.replaceAll(' ', '-'));
    await mkdir(path.join(stateDir, 'codex'), { recursive: true, mode: 0o700 });
    if (auth !== null) await writeFile(path.join(stateDir, 'codex', 'auth.json'), auth, { mode: 0o600 });
    const settings = { PROXY_STATE_DIR: stateDir, PROXY_CODEX_WORKDIR: path.join(stateDir, 'work'), ...env };
    const app = await createApp(loadConfig({ PORT: '0', ...settings }), {
      environment: { ...process.env, ...settings },
      logger: createLogger({ level: 'silent' }),
    });
    try {
      expect(reportOf(app)).toEqual(NONE);
    } finally {
      await app.stop(0);
    }
  });
});
