import { expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import { refusedToolNames } from './tool-names.ts';

it('refuses names that codex keeps for itself, and those that come twice', () => {
  const tools = ['f', 'mcp__f', 'g', 'f', 'mcp_f'].map((name) => functionTool(name));
  const twice = { path: { toolName: 3 }, kind: 'invalid_value', why: "duplicate tool name 'f'." };
  expect(refusedToolNames(tools, false)).toEqual([
    { path: { toolName: 1 }, kind: 'invalid_value', why: "names that start with 'mcp__' are reserved." },
    twice,
  ]);
  expect(refusedToolNames(tools, true)).toEqual([twice]);
});
