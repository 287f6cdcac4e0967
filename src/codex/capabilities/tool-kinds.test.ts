import { expect, it } from 'vitest';

import { CHATGPT, PROVIDER } from '../../../test/support/edited.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import type { Tool } from '../../canonical/tool.ts';
import { chatgptTool, refusedTools } from './tool-kinds.ts';

const hosted = (type: string): Tool => ({ kind: 'hosted', raw: { type } });
const TOOLS: readonly Tool[] = [
  functionTool('f'),
  { kind: 'custom', name: 'c', description: null, format: null },
  hosted('web_search_preview_2025_03_11'),
  hosted('image_generation'),
  hosted('file_search'),
];

it('refuses what a way to a backend has no place for', () => {
  expect(refusedTools(TOOLS, { profile: PROVIDER, lane: 'full' })).toEqual([]);
  expect(refusedTools(TOOLS, { profile: CHATGPT, lane: 'full' })).toEqual([
    {
      path: { tool: 4 },
      kind: 'unsupported_tool',
      why: "is of type 'file_search', which a ChatGPT login does not have",
    },
  ]);
  expect(refusedTools(TOOLS, { profile: null, lane: 'full' }).map(({ path }) => path)).toEqual([
    { tool: 1 },
    { tool: 2 },
    { tool: 3 },
    { tool: 4 },
  ]);
  expect(refusedTools(TOOLS, { profile: CHATGPT, lane: 'lite' }).map(({ path }) => path)).toEqual([
    { tool: 2 },
    { tool: 3 },
    { tool: 4 },
  ]);
});

it('knows what a ChatGPT login calls its tools', () => {
  const names = ['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_x', 'mcp'];
  expect(names.map((type) => chatgptTool({ type, filters: null }))).toEqual([
    { type: 'web_search', filters: null },
    { type: 'web_search', filters: null },
    { type: 'web_search', filters: null },
    null,
    null,
  ]);
});
