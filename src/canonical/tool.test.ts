import { describe, expect, it } from 'vitest';

import { functionTool } from '../../test/support/turn-request.ts';
import type { ToolCall } from './item.ts';
import { CallableTools, type Tool } from './tool.ts';

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

describe('the tools that may be called', () => {
  const tools = new CallableTools([
    functionTool('f'),
    { kind: 'custom', name: 'c', description: null, format: null },
    namespace('n', 'm'),
    namespace('functions', 'x'),
  ]);

  it('are known by kind, name and namespace', () => {
    const custom = { tool: 'custom' } as const;
    for (const known of [
      call('f'),
      call('c', custom),
      call('m', { ...custom, namespace: 'n' }),
      call('x', { ...custom, namespace: 'functions' }),
      // It is where tools are that are in no other.
      call('x', custom),
    ]) {
      expect(tools.known(known)).toEqual(known);
    }
    expect(tools.known(call('f', { namespace: 'functions' }))).toEqual(call('f'));
    for (const unknown of [call('c'), call('f', custom), call('m', custom), call('x')]) {
      expect(tools.known(unknown)).toBeNull();
    }
  });

  it.each([
    ['nobody', [], { type: 'tool_search_call', execution: 'client' }],
    ['nobody', [], { type: 'local_shell_call' }],
    ['backend', [], { type: 'web_search_call' }],
    ['client', [{ type: 'tool_search', execution: 'client' }], { type: 'tool_search_call' }],
    ['client', [{ type: 'tool_search' }], { type: 'tool_search_call', execution: 'client' }],
    ['backend', [{ type: 'tool_search' }], { type: 'tool_search_call', execution: 'server' }],
    ['client', [{ type: 'local_shell' }], { type: 'local_shell_call' }],
  ])('%s runs what is called: %j %j', (runner, declared, item) => {
    const callable = new CallableTools(declared.map((raw) => ({ kind: 'hosted', raw })));
    expect(callable.runnerOf(item)).toBe(runner);
  });
});
