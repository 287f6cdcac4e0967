import { describe, expect, it } from 'vitest';

import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import {
  commandVariables,
  emptyProfile,
  loginFiles,
  sandboxProfile,
  workspaceThread,
  type SandboxLayout,
} from './profile.ts';

const layout: SandboxLayout = {
  binary: '/opt/proxy/vendor/bin/codex',
  searchFolder: '/opt/proxy/vendor/codex-path',
  stateDir: '/var/lib/proxy',
  secretPaths: ['/etc/proxy', '/home/me/.codex', '/var/lib/proxy/codex'],
  workspacePaths: ['/srv/shop', '/srv/docs', '/usr/local/site'],
};
const sandbox = { layout, runFolder: '/var/lib/proxy/run/agent-7c21' };

const shop: Workspace = {
  label: 'shop',
  path: '/srv/shop',
  configuredPath: '/srv/shop',
  access: 'write',
  network: ['packages.example.com', '*.github.com'],
  read: ['/opt/node'],
  write: ['/var/cache/shop-npm'],
  hide: ['.env', 'secrets'],
  git: true,
  env: { NODE_ENV: 'development', NPM_TOKEN: 'secret' },
  requireApproval: 'always',
  runs: 1,
  maxSeconds: 1,
  maxModelRequests: 1,
  callSeconds: 1,
};

/** What the rest of a profile denies. */
const denied = (workspace: Workspace, other: SandboxLayout = layout): readonly string[] =>
  Object.entries(
    sandboxProfile(workspace, workspace.access, { ...sandbox, layout: other }).filesystem,
  ).flatMap(([path, access]) => (access === 'deny' ? [path] : []));

describe('the sandbox of a workspace', () => {
  it('has what the configuration names, and nothing else', () => {
    expect(sandboxProfile(shop, 'write', sandbox)).toEqual({
      filesystem: {
        ':minimal': 'read',
        '/opt/proxy/vendor/bin/codex': 'read',
        '/opt/proxy/vendor/codex-path': 'read',
        '/opt/node': 'read',
        '/var/cache/shop-npm': 'write',
        ':workspace_roots': { '.': 'write', '.git': 'write', '.env': 'deny', secrets: 'deny' },
        '/var/lib/proxy': 'deny',
        '/etc/proxy': 'deny',
        '/usr/local/site': 'deny',
        '/var/lib/proxy/run/agent-7c21': 'write',
      },
      network: { enabled: true, domains: { 'packages.example.com': 'allow', '*.github.com': 'allow' } },
    });
  });

  it('may be narrowed to reading, with its caches', () => {
    expect(sandboxProfile(shop, 'read', sandbox).filesystem).toMatchObject({
      '/var/cache/shop-npm': 'read',
      ':workspace_roots': { '.': 'read', '.env': 'deny', secrets: 'deny' },
      '/var/lib/proxy/run/agent-7c21': 'write',
    });
  });

  it('may change its further folders if it is read only by configuration', () => {
    expect(sandboxProfile({ ...shop, access: 'read' }, 'read', sandbox).filesystem).toMatchObject({
      '/var/cache/shop-npm': 'write',
      ':workspace_roots': { '.': 'read' },
    });
  });

  it.each<[Workspace['network'], object]>([
    ['none', { enabled: false }],
    ['all', { enabled: true }],
    [[], { enabled: false }],
    [
      ['localhost', '127.0.0.1', 'a.localhost', 'local.example.com'],
      {
        enabled: true,
        domains: {
          localhost: 'deny',
          '127.0.0.1': 'deny',
          'a.localhost': 'deny',
          'local.example.com': 'allow',
        },
      },
    ],
  ])('has the network %j', (network, expected) => {
    expect(sandboxProfile({ ...shop, network }, 'write', sandbox).network).toEqual(expected);
  });

  it('hides secrets and other workspaces in the folders that it shows', () => {
    expect(denied({ ...shop, read: ['/srv', '/home/me'] })).toEqual([
      '/var/lib/proxy',
      '/etc/proxy',
      '/home/me/.codex',
      '/srv/docs',
      '/usr/local/site',
    ]);
  });

  it('hides no folder that contains the binary, without which no command starts', () => {
    expect(
      denied(shop, { ...layout, secretPaths: ['/usr/lib/proxy'], binary: '/usr/lib/proxy/bin/codex' }),
    ).toEqual(['/var/lib/proxy', '/usr/local/site']);
  });
});

it('shows a thread without a workspace nothing', () => {
  expect(emptyProfile(layout)).toEqual({
    filesystem: {
      ':minimal': 'read',
      '/var/lib/proxy': 'deny',
      '/etc/proxy': 'deny',
      '/usr/local/site': 'deny',
    },
    network: { enabled: false },
  });
});

describe('the variables of commands', () => {
  it('are those of the workspace, but the home is that of the run', () => {
    expect(
      commandVariables({ ...shop, env: { ...shop.env, HOME: '/root', TMPDIR: '/tmp' } }, sandbox),
    ).toEqual({
      NODE_ENV: 'development',
      NPM_TOKEN: 'secret',
      PATH: '/usr/local/bin:/usr/bin:/bin:/opt/proxy/vendor/codex-path',
      HOME: sandbox.runFolder,
      TMPDIR: sandbox.runFolder,
    });
  });

  it('keep a configured PATH in login shells, and the search tool in all', () => {
    expect([
      loginFiles(shop, layout)['.profile'],
      loginFiles({ ...shop, env: { PATH: "/it's:/bin" } }, layout)['.profile'],
      loginFiles(shop, { ...layout, searchFolder: null }),
    ]).toEqual([
      `export PATH="$PATH":'/opt/proxy/vendor/codex-path'\n`,
      `export PATH='/it'\\''s:/bin:/opt/proxy/vendor/codex-path'\n`,
      {},
    ]);
  });
});

it('asks codex for a thread in the workspace', () => {
  expect(workspaceThread(shop, 'write', sandbox)).toEqual({
    modelProvider: 'proxy',
    approvalPolicy: 'on-request',
    ephemeral: true,
    cwd: '/srv/shop',
    config: {
      default_permissions: 'run',
      permissions: { run: sandboxProfile(shop, 'write', sandbox) },
      shell_environment_policy: { inherit: 'core', set: commandVariables(shop, sandbox) },
    },
  });
});
