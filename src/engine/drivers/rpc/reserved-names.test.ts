import { expect, it } from 'vitest';

import { isReservedToolName } from './reserved-names.ts';

it('knows the tool names that codex reserves', () => {
  const names = [
    'mcp',
    'mcp__',
    'mcp__x__y',
    'exec_command',
    'shell_command',
    'mcp_x',
    'MCP',
    'exec',
    'shell',
  ];
  expect(names.map(isReservedToolName)).toEqual([true, true, true, true, true, false, false, false, false]);
});
