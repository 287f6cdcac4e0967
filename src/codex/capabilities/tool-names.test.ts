import { expect, it } from 'vitest';

import { functionTool } from '../../../test/support/turn-request.ts';
import { refusedToolNames } from './tool-names.ts';

it('refuses names that codex keeps for itself, and those that come twice', () => {
  expect(refusedToolNames(['f', 'mcp__f', 'g', 'f', 'mcp_f'].map((name) => functionTool(name)))).toEqual([
    { path: { toolName: 1 }, kind: 'invalid_value', why: "names that start with 'mcp__' are reserved." },
    { path: { toolName: 3 }, kind: 'invalid_value', why: "duplicate tool name 'f'." },
  ]);
});
