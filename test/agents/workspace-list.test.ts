import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** Workspaces among the MCP servers of this deployment, as each key sees them. */

const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'workspace-list-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const folder = (name: string): string => {
  const made = path.join(root, name);
  mkdirSync(made, { recursive: true });
  return made;
};

const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: mcpFiles().write({
    web: { workspace: folder('web'), network: ['*.example.com'], runs: 2 },
    docs: { workspace: folder('docs'), access: 'read', require_approval: 'never' },
    gone: { workspace: folder('gone'), network: 'all' },
  }),
});
rmSync(folder('gone'), { recursive: true });

interface Listed {
  readonly data: readonly { readonly tools: readonly { readonly name: string }[] }[];
}

const keyFor = async (fields: object): Promise<string> => {
  const made = await proxy.post('/v1/codex/keys', { name: 'a', scopes: ['infer', 'read'], ...fields });
  return ((await made.json()) as { readonly key: string }).key;
};

const listed = async (at: string, key?: string): Promise<Listed['data']> => {
  const answer =
    key === undefined
      ? await proxy.get(at)
      : await fetch(proxy.url + at, { headers: { authorization: `Bearer ${key}` } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as Listed).data;
};

const READING = ['exec_command', 'write_stdin', 'update_plan', 'view_image'];
const ALL = ['exec_command', 'write_stdin', 'apply_patch', 'update_plan', 'view_image'];

describe('workspaces', () => {
  it('are listed as servers with the tools of codex, without their folders', async () => {
    const data = await listed('/v1/mcp/tools');
    expect(data.map(({ tools, ...rest }) => ({ ...rest, tools: tools.map(({ name }) => name) }))).toEqual([
      { server_label: 'web', transport: 'workspace', status: 'connected', error: null, tools: ALL },
      { server_label: 'docs', transport: 'workspace', status: 'connected', error: null, tools: READING },
      {
        server_label: 'gone',
        transport: 'workspace',
        status: 'failed',
        error: "The workspace 'gone' does not exist any more.",
        tools: [],
      },
    ]);
    expect(data[0]?.tools.find(({ name }) => name === 'apply_patch')).toMatchObject({
      input_schema: { type: 'object', required: ['patch'] },
      annotations: { readOnlyHint: false },
    });
    const text = JSON.stringify(data);
    for (const word of [root, 'sandbox_permissions', 'justification', 'prefix_rule'])
      expect(text).not.toContain(word);
  });

  it('have their settings in the list for operators', async () => {
    const shared = { object: 'codex.mcp_server', transport: 'workspace', auth: null };
    expect(await listed('/v1/codex/mcp')).toEqual([
      {
        ...shared,
        server_label: 'web',
        status: 'connected',
        error: null,
        require_approval: 'always',
        tools: ALL,
        workspace: {
          path: path.join(root, 'web'),
          access: 'write',
          network: ['*.example.com'],
          runs: { active: 0, max: 2 },
        },
      },
      {
        ...shared,
        server_label: 'docs',
        status: 'connected',
        error: null,
        require_approval: 'never',
        tools: READING,
        workspace: {
          path: path.join(root, 'docs'),
          access: 'read',
          network: false,
          runs: { active: 0, max: 1 },
        },
      },
      {
        ...shared,
        server_label: 'gone',
        status: 'failed',
        error: "The workspace 'gone' does not exist any more.",
        require_approval: 'always',
        tools: [],
        workspace: {
          path: path.join(root, 'gone'),
          access: 'write',
          network: 'all',
          runs: { active: 0, max: 1 },
        },
      },
    ]);
  });

  it('are there for keys that may use them', async () => {
    const labels = async (key: string) =>
      Promise.all(
        ['/v1/mcp/tools', '/v1/codex/mcp'].map(async (at) =>
          (await listed(at, key)).map((entry) => (entry as { readonly server_label?: string }).server_label),
        ),
      );
    expect(await labels(await keyFor({}))).toEqual([[], []]);
    expect(await labels(await keyFor({ workspaces: ['doc*', 'web'] }))).toEqual([
      ['web', 'docs'],
      ['web', 'docs'],
    ]);
  });
});
