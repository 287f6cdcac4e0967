import { expect, it } from 'vitest';

import { CHATGPT, PROVIDER } from '../../../test/support/edited.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import type { HostedTool, Tool } from '../../canonical/tool.ts';
import { lostOfTools, refusedTools } from './tool-kinds.ts';

const hosted = (type: string): HostedTool => ({ kind: 'hosted', raw: { type } });
const TOOLS: readonly Tool[] = [
  functionTool('f'),
  { kind: 'custom', name: 'c', description: null, format: null },
  hosted('web_search_preview_2025_03_11'),
  hosted('image_generation'),
  hosted('file_search'),
];

it('refuses what a way to a backend has no place for', () => {
  expect(refusedTools(TOOLS, PROVIDER)).toEqual([]);
  expect(refusedTools(TOOLS, CHATGPT)).toEqual([
    {
      path: { tool: 4 },
      kind: 'unsupported_tool',
      why: "is of type 'file_search', which a ChatGPT login does not have",
    },
  ]);
  expect(refusedTools(TOOLS, null).map(({ path }) => path)).toEqual([
    { tool: 1 },
    { tool: 2 },
    { tool: 3 },
    { tool: 4 },
  ]);
});

it('does not tell a service that chooses for itself which model runs its tools', () => {
  const tools: readonly Tool[] = [hosted('image_generation'), { ...hosted('image_generation'), model: 'm' }];
  expect(lostOfTools(tools, PROVIDER)).toEqual([]);
  expect(lostOfTools(tools, CHATGPT)).toEqual([{ toolField: { tool: 1, field: 'model' } }]);
});
