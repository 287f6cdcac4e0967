import { describe, expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import type { ToolCall } from './item.ts';
import { CallableTools, isRunByClient, type RawTool, type Tool } from './tool.ts';

const namespace = (name: string, ...members: readonly string[]): Tool => ({
  kind: 'namespace',
  name,
  raw: { type: 'namespace' },
  members: members.map((member) => ({ tool: 'custom', name: member })),
});
const call = (name: string, different: Partial<ToolCall> = {}): ToolCall => ({
  kind: 'tool-call',
  tool: 'function',
  callId: 'c',
  name,
  input: '',
  ...different,
});

describe('CallableTools', () => {
  const tools = new CallableTools([
    functionTool('f'),
    { kind: 'custom', name: 'c', description: null, format: null },
    namespace('n', 'm'),
    namespace('functions', 'x'),
  ]);

  it('finds tools by kind, name and namespace', () => {
    const custom = { tool: 'custom' } as const;
    for (const known of [
      call('f'),
      call('c', custom),
      call('m', { ...custom, namespace: 'n' }),
      call('x', { ...custom, namespace: 'functions' }),
      // The namespace for tools without one.
      call('x', custom),
    ]) {
      expect(tools.known(known)).toEqual(known);
    }
    expect(tools.known(call('f', { namespace: 'functions' }))).toEqual(call('f'));
    const elsewhere = { namespace: 'mcp__web' };
    for (const unknown of [
      call('c'),
      call('f', custom),
      call('f', elsewhere),
      call('m', custom),
      call('x'),
    ]) {
      expect(tools.known(unknown)).toBeNull();
    }
  });

  it.each([
    ['undeclared', [], { type: 'tool_search_call', execution: 'client' }],
    ['undeclared', [], { type: 'local_shell_call' }],
    ['report', [], { type: 'web_search_call' }],
    ['call', [{ type: 'tool_search', execution: 'client' }], { type: 'tool_search_call' }],
    ['call', [{ type: 'tool_search' }], { type: 'tool_search_call', execution: 'client' }],
    ['report', [{ type: 'tool_search' }], { type: 'tool_search_call', execution: 'server' }],
    ['call', [{ type: 'local_shell' }], { type: 'local_shell_call' }],
  ])('classifies as %s, given the tools %j: %j', (meaning, declared, raw) => {
    const callable = new CallableTools(declared.map((tool) => ({ kind: 'hosted', raw: tool })));
    expect(callable.meaningOf({ kind: 'hosted-call', raw })).toBe(meaning);
  });
});

it('recognises hosted tools that the client runs', () => {
  const tools: readonly RawTool[] = [
    { type: 'web_search' },
    { type: 'mcp' },
    { type: 'shell', environment: { type: 'container_auto' } },
    { type: 'shell', environment: { type: 'local' } },
    { type: 'shell' },
    { type: 'local_shell' },
    { type: 'computer_use_preview' },
    { type: 'apply_patch' },
  ];
  const run = tools.filter((raw) => isRunByClient({ kind: 'hosted', raw }));
  expect(run).toEqual(tools.slice(3));
});
