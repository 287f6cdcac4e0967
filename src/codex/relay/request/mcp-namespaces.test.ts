import { describe, expect, it } from 'vitest';

import { shapeMcpTools, withoutForeignTools, type McpShape } from './mcp-namespaces.ts';

const MCP: McpShape = {
  offered: (namespace) => (namespace === 'mcp__notes' ? null : undefined),
  offersResource: () => false,
  isLimitReached: () => false,
};
const shell = { type: 'function', name: 'exec_command', parameters: {} };
const search = { type: 'web_search' };
const notes = { type: 'namespace', name: 'mcp__notes', tools: [{ type: 'function', name: 'read' }] };
const flat = { type: 'function', name: 'mcp__notes__read' };
const resources = { type: 'function', name: 'list_mcp_resources' };
const collaboration = {
  type: 'namespace',
  name: 'collaboration',
  tools: [{ type: 'function', name: 'spawn' }],
};
const message = { type: 'message', role: 'user', content: [] };

describe('withoutForeignTools', () => {
  it('returns the same body if codex adds no tools', () => {
    const body = { model: 'm', tools: [], input: [message] };
    expect(withoutForeignTools(body, null)).toEqual({ body, foreign: [] });
    expect(withoutForeignTools(body, null).body).toBe(body);
  });

  it('removes every tool of codex from a turn without MCP servers, and names it', () => {
    expect(
      withoutForeignTools({ model: 'm', tools: [shell, search, notes, 7], input: [message] }, null),
    ).toEqual({
      body: { model: 'm', tools: [], input: [message] },
      foreign: ['exec_command', 'web_search', 'mcp__notes', 'unnamed'],
    });
  });

  it('keeps the tools of the MCP servers of the turn', () => {
    const body = { tools: [shell, notes, flat, resources, collaboration], input: [message] };
    expect(withoutForeignTools(body, MCP)).toEqual({
      body: { tools: [notes, flat, resources], input: [message] },
      foreign: ['exec_command', 'collaboration'],
    });
  });

  it('removes them from the item that holds tools in the codex format', () => {
    const held = { type: 'additional_tools', id: 'at_1', role: 'developer' };
    expect(withoutForeignTools({ input: [{ ...held, tools: [shell, notes] }, message] }, MCP)).toEqual({
      body: { input: [{ ...held, tools: [notes] }, message] },
      foreign: ['exec_command'],
    });
  });

  it('looks into the namespace of functions without one, as the codex format has it', () => {
    const functions = { type: 'namespace', name: 'functions', description: '', tools: [shell, resources] };
    expect(withoutForeignTools({ tools: [functions], input: [] }, MCP)).toEqual({
      body: { tools: [{ ...functions, tools: [resources] }], input: [] },
      foreign: ['exec_command'],
    });
    expect(withoutForeignTools({ tools: [functions], input: [] }, null)).toEqual({
      body: { tools: [], input: [] },
      foreign: ['exec_command', 'list_mcp_resources'],
    });
    const kept = (offersResource: boolean) =>
      shapeMcpTools([{ ...functions, tools: [resources] }], { ...MCP, offersResource: () => offersResource });
    expect([kept(true), kept(false)]).toEqual([[{ ...functions, tools: [resources] }], []]);
  });
});
