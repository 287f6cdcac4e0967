import { describe, expect, it } from 'vitest';

import { workspaceNamed } from '../../../../test/support/scripted-runs.ts';
import { functionTool, turnRequest } from '../../../../test/support/turn-request.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { HostedTool, Tool, ToolChoice } from '../../../canonical/request/tool.ts';
import type { Json } from '../../../kit/json/json.ts';
import { CODEX_TOOLS } from '../run/port.ts';
import { choiceOfCodex, sortWorkspaces, type WorkspaceUse } from './workspace-use.ts';

const WEB = workspaceNamed('web');
const DOCS = workspaceNamed('docs', { access: 'read', requireApproval: 'never' });
const USABLE = [WEB, DOCS];

const mcp = (label: string, more: object = {}): HostedTool => ({
  kind: 'hosted',
  raw: { type: 'mcp', server_label: label, ...more },
});
interface Asked {
  readonly toolChoice?: ToolChoice;
  readonly canApprove?: boolean;
  readonly usable?: readonly Workspace[];
}
const sort = (
  tools: readonly Tool[],
  { toolChoice = { mode: 'auto' }, canApprove = true, usable = USABLE }: Asked = {},
) => sortWorkspaces(turnRequest({ tools, toolChoice, canApprove }), usable);
const useOf = (tool: HostedTool): WorkspaceUse => {
  const { use, refused } = sort([tool]);
  expect(refused).toEqual([]);
  if (use === null) throw new Error('no workspace is used');
  return use;
};
const whyOf = (tools: readonly Tool[], options: Asked = {}) =>
  sort(tools, options).refused.map(({ path, kind, why }) => [path, kind, why]);

const ASKING = ['exec_command', 'apply_patch'];

describe('a workspace among the tools', () => {
  it('is separated from the others, whose positions are kept', () => {
    const [first, last] = [functionTool('f'), functionTool('g')];
    const { use, tools, places, ignored } = sort([first, mcp('web', { headers: { a: 'b' } }), last]);
    expect(use?.workspace).toBe(WEB);
    expect(tools).toEqual([first, last]);
    expect(places).toEqual([0, 2]);
    expect(ignored).toEqual([{ toolField: { tool: 1, field: 'headers' } }]);
  });

  it('has an empty address, as the AI SDK sends it', () => {
    expect(useOf(mcp('web', { server_url: '' })).workspace).toBe(WEB);
  });

  it.each([
    ['an address', [mcp('web', { server_url: 'https://mcp.example.com' })], USABLE],
    ['a key without leave', [mcp('web')], []],
  ])('is a tool like others with %s', (_, tools, usable) => {
    expect(sort(tools, { usable })).toMatchObject({ use: null, tools, refused: [] });
  });

  it.each<[ToolChoice, boolean]>([
    [{ mode: 'none' }, false],
    [{ mode: 'required' }, true],
    [{ mode: 'named', tool: { kind: 'function', name: 'f' } }, false],
    [{ mode: 'named', tool: { kind: 'hosted', raw: mcp('web').raw } }, true],
    [{ mode: 'allowed', required: false, tools: [{ kind: 'function', name: 'f' }] }, false],
  ])('is used only if the tool choice allows it: %j', (toolChoice, isUsed) => {
    const sorted = sort([functionTool('f'), mcp('web')], { toolChoice });
    expect(sorted.use !== null).toBe(isUsed);
    expect(sorted.tools).toHaveLength(1);
  });

  it('offers what its access and the request allow', () => {
    const namesOf = (tool: HostedTool) => useOf(tool).tools.map(({ name }) => name);
    expect(namesOf(mcp('web'))).toEqual(CODEX_TOOLS);
    expect(namesOf(mcp('docs'))).not.toContain('apply_patch');
    expect(namesOf(mcp('web', { allowed_tools: ['exec_command'] }))).toEqual(['exec_command']);
    expect(namesOf(mcp('web', { allowed_tools: { read_only: true } }))).toEqual([
      'update_plan',
      'view_image',
    ]);
  });

  it.each<[Json | undefined, readonly string[]]>([
    [undefined, ASKING],
    ['always', ASKING],
    ['never', []],
    [{ never: { tool_names: ['exec_command'] } }, ['apply_patch']],
    [{ always: { tool_names: ['view_image'] } }, [...ASKING, 'view_image']],
    [{ always: { tool_names: ['view_image'] }, never: { read_only: true } }, ASKING],
    [{ never: { tool_names: ['write_stdin', 'apply_patch'] } }, ['exec_command']],
  ])('asks for approvals by the rule %j', (rule, asking) => {
    const { needsApproval } = useOf(mcp('web', rule === undefined ? {} : { require_approval: rule }));
    expect(CODEX_TOOLS.filter(needsApproval)).toEqual(asking);
  });

  it('asks for none if its configuration says so', () => {
    const { needsApproval } = useOf(mcp('docs'));
    expect(CODEX_TOOLS.filter(needsApproval)).toEqual([]);
  });

  it('is refused with wrong rules', () => {
    const invalid = (more: object) => whyOf([functionTool('f'), mcp('web', more)]);
    const at = [{ tool: 1 }, 'invalid_value'];
    expect(invalid({ allowed_tools: 5 })).toEqual([[...at, expect.stringContaining("its 'allowed_tools'")]]);
    expect(invalid({ allowed_tools: ['shell'] })).toEqual([
      [...at, expect.stringContaining("its 'allowed_tools' names 'shell', which a workspace does not have")],
    ]);
    expect(invalid({ require_approval: { always: { tool_names: ['write_stdin'] } } })).toEqual([
      [...at, expect.stringContaining("names 'write_stdin'")],
    ]);
  });

  it('is refused a second time, and where the API cannot ask for approvals', () => {
    expect(whyOf([mcp('web'), mcp('docs')])).toEqual([
      [{ tool: 1 }, 'invalid_value', 'a request can use only one workspace.'],
    ]);
    const asking = whyOf([mcp('web')], { canApprove: false });
    expect(asking).toEqual([[{ tool: 0 }, 'invalid_value', expect.stringContaining("must be 'never'")]]);
    const canApprove = false;
    expect(whyOf([mcp('web', { require_approval: 'never' })], { canApprove })).toEqual([]);
    expect(whyOf([mcp('web', { allowed_tools: ['view_image'] })], { canApprove })).toEqual([]);
  });

  it.each<[string, Tool, string]>([
    ['a function with the name of one of its tools', functionTool('exec_command'), 'invalid_value'],
    ['a server of the same label', mcp('web', { server_url: 'https://mcp.example.com' }), 'invalid_value'],
    ['a shell of the client', { kind: 'hosted', raw: { type: 'local_shell' } }, 'unsupported_tool'],
  ])('is refused together with %s', (_, tool, kind) => {
    expect(whyOf([mcp('web'), tool])).toEqual([[{ tool: 1 }, kind, expect.any(String)]]);
    expect(whyOf([mcp('web'), tool], { toolChoice: { mode: 'none' } })).toEqual([]);
  });

  it('is used together with functions and hosted tools', () => {
    expect(whyOf([mcp('web'), functionTool('f'), { kind: 'hosted', raw: { type: 'web_search' } }])).toEqual(
      [],
    );
  });
});

describe('a tool choice', () => {
  const use = useOf(mcp('web', { allowed_tools: ['exec_command', 'apply_patch'] }));
  const ref = (name?: string) =>
    ({ kind: 'hosted', raw: { ...mcp('web').raw, ...(name === undefined ? {} : { name }) } }) as const;
  const EXEC = { kind: 'function', name: 'exec_command' };
  const PATCH = { kind: 'custom', name: 'apply_patch' };

  it.each<[ToolChoice, unknown]>([
    [{ mode: 'required' }, { mode: 'required' }],
    [
      { mode: 'named', tool: ref('apply_patch') },
      { mode: 'named', tool: PATCH },
    ],
    [
      { mode: 'named', tool: ref() },
      { mode: 'allowed', required: true, tools: [EXEC, PATCH] },
    ],
    [{ mode: 'named', tool: ref('view_image') }, null],
    [
      { mode: 'allowed', required: false, tools: [ref('exec_command'), { kind: 'function', name: 'f' }] },
      { mode: 'allowed', required: false, tools: [EXEC, { kind: 'function', name: 'f' }] },
    ],
  ])('%j is one of the names that the model knows', (choice, expected) => {
    expect(choiceOfCodex(choice, use)).toEqual(expected);
  });
});
