import { describe, expect, it } from 'vitest';

import { readMcpRules } from '../../canonical/mcp/mcp-use.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { mcpUseConfig } from './mcp-config.ts';

describe('mcpUseConfig', () => {
  const server = {
    label: 'a',
    transport: { kind: 'http', url: 'http://a', headers: {} },
    startupSeconds: 1,
    callSeconds: 1,
    requireApproval: 'always',
  } as const;

  const configOf = (more: JsonObject): JsonObject => {
    const rules = readMcpRules({ type: 'mcp', ...more }, server.requireApproval);
    if ('problem' in rules) throw new Error(rules.problem);
    const { url, required, ...rest } = mcpUseConfig({ url: 'u' }, { server, ...rules });
    expect([url, required]).toEqual(['u', true]);
    return rest;
  };

  it.each<[JsonObject, JsonObject]>([
    [{}, { default_tools_approval_mode: 'prompt' }],
    [{ require_approval: 'never' }, { default_tools_approval_mode: 'approve' }],
    [
      { require_approval: 'never', allowed_tools: ['x'] },
      { enabled_tools: ['x'], default_tools_approval_mode: 'approve' },
    ],
    // Tools that may write must not run, because there is no one to ask.
    [
      { require_approval: 'never', allowed_tools: { read_only: true } },
      { default_tools_approval_mode: 'auto' },
    ],
    [{ require_approval: { never: { read_only: true } } }, { default_tools_approval_mode: 'auto' }],
    [
      { require_approval: { never: { tool_names: ['x'] } } },
      { default_tools_approval_mode: 'prompt', tools: { x: { approval_mode: 'approve' } } },
    ],
    [
      { require_approval: { never: { tool_names: ['x'], read_only: true } } },
      { default_tools_approval_mode: 'prompt', tools: { x: { approval_mode: 'auto' } } },
    ],
  ])('%j is %j', (more, config) => expect(configOf(more)).toEqual(config));
});
