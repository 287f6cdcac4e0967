import { describe, expect, it } from 'vitest';

import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { HostedTool } from '../../canonical/request/tool.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { sortTools, type SortOptions } from './mcp-tools.ts';

const server: McpServer = {
  label: 'web',
  transport: { kind: 'http', url: 'http://a', headers: {} },
  startupSeconds: 1,
  callSeconds: 1,
  requireApproval: 'never',
};
const OPTIONS: SortOptions = {
  choice: { mode: 'auto' },
  canApprove: true,
  policy: { deployment: new Map([['web', { server }]]), allowsClientServers: false },
  hasHostedMcp: true,
};
const CLIENTS = { ...OPTIONS, policy: { ...OPTIONS.policy, allowsClientServers: true } };
const mcp = (more: object): HostedTool => ({ kind: 'hosted', raw: { type: 'mcp', ...more } });
const OURS = mcp({ server_label: 'web' });
const THEIRS = mcp({
  server_label: 'mine',
  server_url: 'https://mcp.example.com/mcp',
  authorization: 'token',
});
const CONNECTOR = mcp({ server_label: 'mail', connector_id: 'connector_gmail' });

const brief = (tools: Parameters<typeof sortTools>[0], options: SortOptions) => {
  const { tools: others, uses, refused } = sortTools(tools, options);
  return { others, labels: uses.map((use) => use.server.label), refused: refused.map(({ kind }) => kind) };
};

describe('MCP servers among the tools', () => {
  it('belong to the deployment if named by label only', () => {
    const f = functionTool('f');
    expect(brief([f, OURS], OPTIONS)).toEqual({ others: [f], labels: ['web'], refused: [] });
    expect(brief([OURS], { ...OPTIONS, choice: { mode: 'none' } })).toMatchObject({ others: [], labels: [] });
  });

  it.each([
    ['a provider', OPTIONS, THEIRS, { others: [THEIRS], labels: [], refused: [] }],
    ['a provider', CLIENTS, THEIRS, { others: [], labels: ['mine'], refused: [] }],
    ['a provider', CLIENTS, CONNECTOR, { others: [CONNECTOR], labels: [], refused: [] }],
    [
      'ChatGPT',
      { ...OPTIONS, hasHostedMcp: false },
      THEIRS,
      { others: [], labels: [], refused: ['unsupported_tool'] },
    ],
    ['no relay', { ...CLIENTS, hasHostedMcp: false }, THEIRS, { others: [], labels: ['mine'], refused: [] }],
    [
      'no relay',
      { ...CLIENTS, hasHostedMcp: false },
      CONNECTOR,
      { others: [], labels: [], refused: ['unsupported_tool'] },
    ],
  ] as const)(
    'belong to the backend if named by URL and the backend supports them: %s',
    (_, options, tool, expected) => {
      expect(brief([tool], options)).toEqual(expected);
    },
  );

  it('belong to the deployment if the URL is empty, as some clients send it', () => {
    const tool = mcp({ server_label: 'web', server_url: '', connector_id: null });
    expect(brief([tool], OPTIONS)).toEqual({ others: [], labels: ['web'], refused: [] });
    expect(brief([tool], CLIENTS)).toEqual({ others: [], labels: ['web'], refused: [] });
    const connector = mcp({ server_label: 'mail', server_url: '', connector_id: 'connector_gmail' });
    expect(brief([connector], CLIENTS)).toEqual({ others: [connector], labels: [], refused: [] });
  });

  it('report fields without effect', () => {
    const more = {
      require_approval: 'never',
      allowed_tools: null,
      server_description: 'd',
      authorization: 'x',
      headers: { a: 'b' },
    };
    const ignored = (tool: HostedTool, options: SortOptions) =>
      sortTools([functionTool('f'), tool], options).ignored;
    const field = (name: string) => ({ toolField: { tool: 1, field: name } });
    expect(ignored(mcp({ server_label: 'web', ...more }), OPTIONS)).toEqual(
      ['server_description', 'authorization', 'headers'].map(field),
    );
    const theirs = mcp({ server_label: 'mine', server_url: 'https://a', ...more });
    expect(ignored(theirs, CLIENTS)).toEqual([field('server_description')]);
    expect(ignored(theirs, OPTIONS)).toEqual([]);
  });

  it("get the client's token", () => {
    expect(sortTools([THEIRS], CLIENTS).uses[0]?.server.transport).toMatchObject({
      headers: { authorization: 'Bearer token' },
    });
  });

  it.each([
    mcp({ server_label: 'unknown' }),
    mcp({ server_label: 'two words' }),
    mcp({}),
    mcp({ server_label: 'a', server_url: 'ftp://a' }),
    mcp({ server_label: 'a', server_url: 'https://a', headers: 5 }),
    mcp({ server_label: 'a', server_url: 'https://a', headers: { 'mcp-session-id': 'x' } }),
    mcp({ server_label: 'a', server_url: 'https://a', authorization: 'a\nb' }),
  ])('are rejected: %j', (tool) => {
    expect(brief([tool], CLIENTS)).toEqual({ others: [], labels: [], refused: ['invalid_value'] });
  });

  it('are limited in number', () => {
    const all = Array.from({ length: 66 }, (_, index) =>
      mcp({ server_label: `s${index}`, server_url: 'https://a' }),
    );
    const { labels, refused } = brief(all, CLIENTS);
    expect([labels.length, refused]).toEqual([64, ['invalid_value', 'invalid_value']]);
  });
});
