import { expect, it } from 'vitest';

import { refusedToolNames } from './tool-names.ts';

const tool = (name: string) => ({
  kind: 'function' as const,
  name,
  description: null,
  parameters: null,
  strict: null,
});

it('refuses names that codex keeps for itself, and those that come twice', () => {
  expect(refusedToolNames(['f', 'mcp__f', 'g', 'f', 'mcp_f'].map(tool))).toEqual([
    { path: { toolName: 1 }, kind: 'invalid_value', why: "names that start with 'mcp__' are reserved." },
    { path: { toolName: 3 }, kind: 'invalid_value', why: "duplicate tool name 'f'." },
  ]);
});
