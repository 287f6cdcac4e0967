import { expect, it } from 'vitest';

import type { Workspace } from '../../canonical/mcp/workspace.ts';
import { workspaceAt } from '../../../test/support/agent-workers.ts';
import { judgeWorkspace } from './workspaces.ts';

const ALL = ['starts', 'reads', 'writes', 'git', 'done'];

const judge = (
  said: readonly string[],
  {
    workspace = {},
    stderr = '',
    connections = 0,
  }: {
    readonly workspace?: Partial<Workspace>;
    readonly stderr?: string;
    readonly connections?: number;
  } = {},
) => {
  const result = { exitCode: 0, stdout: `${said.join('\n')}\n`, stderr, isTimedOut: false };
  const { grade, says, advice } = judgeWorkspace(workspaceAt('/srv/shop', workspace), result, connections);
  return [grade, says, advice];
};

const without = (word: string): readonly string[] => ALL.filter((one) => one !== word);
const LEAKS = 'remove the workspace until this is solved, and report it: its sandbox does not hold';

it.each<[string, ReturnType<typeof judge>, readonly unknown[]]>([
  ['all is well', judge(ALL), ['ok', 'shop: /srv/shop, write, no network', null]],
  [
    'it is read only by configuration',
    judge(without('writes'), { workspace: { access: 'read', network: ['a.example', 'b.example'] } }),
    ['ok', 'shop: /srv/shop, read, network: a.example, b.example', null],
  ],
  [
    'there is no sandbox',
    judge([], { stderr: 'bwrap: Creating new namespace failed: Operation not permitted\nmore' }),
    [
      'problem',
      'shop: its sandbox does not start: bwrap: Creating new namespace failed: Operation not permitted',
      expect.stringContaining('user namespaces'),
    ],
  ],
  [
    'the folder is not ours',
    judge(['starts', 'git', 'done']),
    [
      'problem',
      'shop: /srv/shop, write, no network\n/srv/shop cannot be read\n/srv/shop cannot be changed',
      expect.stringContaining('ls -ld /srv/shop'),
    ],
  ],
  [
    'secrets can be read',
    judge([...ALL, 'sees /var/lib/proxy']),
    ['problem', 'shop: /srv/shop, write, no network\ncommands can read /var/lib/proxy', LEAKS],
  ],
  [
    'this machine can be reached',
    judge(ALL, { connections: 1 }),
    ['problem', 'shop: /srv/shop, write, no network\ncommands reach this machine', LEAKS],
  ],
  [
    'everything may be reached',
    judge(ALL, { workspace: { network: 'all' } }),
    [
      'warning',
      'shop: /srv/shop, write, every network; commands reach this machine too',
      'name the hosts that it needs',
    ],
  ],
  [
    'there is no git',
    judge(without('git')),
    [
      'warning',
      'shop: /srv/shop, write, no network; commands find no git',
      'install git: most work with code needs it',
    ],
  ],
  [
    'a command hangs',
    judge(without('done')),
    ['problem', 'shop: a command did not end', 'run doctor again; a busy machine may be the reason'],
  ],
])('says that %s', (_, said, expected) => {
  expect(said).toEqual(expected);
});
