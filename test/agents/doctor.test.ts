import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { openWorkspaceTrials } from '../../src/cli/doctor/workspaces.ts';
import { hasSandbox } from '../support/agent-workers.ts';
import { loadConfig } from '../../src/compose/features.ts';

const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
let root: string;
const at = (name: string): string => path.join(root, name);

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'doctor-')));
  for (const name of ['web', 'docs', 'open', 'state', 'etc']) await mkdir(at(name));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** What doctor says about the workspaces of a file. */
const examine = async (mcpServers: object) => {
  await writeFile(at('etc/mcp.json'), JSON.stringify({ mcpServers }));
  const config = loadConfig({ PROXY_STATE_DIR: at('state'), PROXY_MCP_CONFIG: at('etc/mcp.json') });
  const trials = await openWorkspaceTrials(config, { ...process.env, CODEX_HOME: undefined });
  try {
    const found = [];
    for (const check of trials.checks) found.push(await check.run(new AbortController().signal));
    return found;
  } finally {
    await trials.close();
  }
};

it.skipIf(!hasSandbox)('tries the sandbox of each workspace, and leaves nothing', NEEDS_SANDBOX, async () => {
  await writeFile(at('docs/secret.txt'), 'of the other workspace');
  const found = await examine({
    web: { workspace: at('web'), network: ['packages.example.com'] },
    docs: { workspace: at('docs'), access: 'read' },
    open: { workspace: at('open'), network: 'all' },
  });
  expect(found.map(({ grade, says }) => [grade, says])).toEqual([
    ['ok', `web: ${at('web')}, write, network: packages.example.com`],
    ['ok', `docs: ${at('docs')}, read, no network`],
    ['warning', `open: ${at('open')}, write, every network; commands reach this machine too`],
  ]);
  expect([await readdir(at('web')), await readdir(at('docs')), await readdir(at('state/run'))]).toEqual([
    [],
    ['secret.txt'],
    [],
  ]);
});

it('names a workspace whose folder is gone', async () => {
  await writeFile(at('etc/mcp.json'), JSON.stringify({ mcpServers: { web: { workspace: at('web') } } }));
  const config = loadConfig({ PROXY_STATE_DIR: at('state'), PROXY_MCP_CONFIG: at('etc/mcp.json') });
  const trials = await openWorkspaceTrials(config, { ...process.env, CODEX_HOME: undefined });
  await rm(at('web'), { recursive: true });
  const found = await Promise.all(
    trials.checks.map(async (check) => check.run(new AbortController().signal)),
  );
  await trials.close();
  expect(found).toEqual([
    expect.objectContaining({
      grade: 'problem',
      says: "The workspace 'web' could not be used: it does not exist any more.",
    }),
  ]);
});
