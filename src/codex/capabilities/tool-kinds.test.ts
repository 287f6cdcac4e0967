import { expect, it } from 'vitest';

import { CHATGPT, PROVIDER } from '../../../test/support/edited.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { HostedTool, Tool } from '../../canonical/request/tool.ts';
import { chatgptTool, lostToolFields, refusedTools, toolRulesOf } from './tool-kinds.ts';

const hosted = (type: string): HostedTool => ({ kind: 'hosted', raw: { type } });
const TOOLS: readonly Tool[] = [
  functionTool('f'),
  { kind: 'custom', name: 'c', description: null, format: null },
  hosted('web_search_preview_2025_03_11'),
  hosted('image_generation'),
  hosted('file_search'),
  hosted('tool_search'),
];
const bringing = (...tools: readonly Tool[]): Item => ({
  kind: 'loaded-tools',
  raw: { type: 'additional_tools' },
  tools,
});

it('rejects tools that a backend cannot receive', () => {
  const request = { tools: TOOLS, items: [bringing(functionTool('g'), hosted('shell'))] };
  expect(refusedTools(request, toolRulesOf(PROVIDER), 'responses')).toEqual([]);
  const why = "is of type 'file_search', which a ChatGPT login does not support";
  expect(refusedTools(request, toolRulesOf(CHATGPT), 'responses')).toEqual([
    { path: { tool: 4 }, kind: 'unsupported_tool', why },
    { path: { item: 0 }, kind: 'unsupported_tool', why: why.replace('file_search', 'shell') },
  ]);
});

it('reports the tool fields that do not reach a backend', () => {
  const more = { defer_loading: true, allowed_callers: ['direct'] };
  const tools = [functionTool('f', { more }), hosted('tool_search')];
  const request = { tools, items: [bringing(functionTool('g', { more: { x: 1 } }))] };
  expect(lostToolFields(request, toolRulesOf(PROVIDER))).toEqual([]);
  expect(lostToolFields(request, toolRulesOf(CHATGPT))).toEqual([
    { toolField: { tool: 0, field: 'allowed_callers' } },
    { toolField: { item: 0, tool: 0, field: 'x' } },
  ]);
  expect(
    refusedTools({ tools: TOOLS, items: [] }, toolRulesOf(CHATGPT), 'codex').map(({ path }) => path),
  ).toEqual([{ tool: 2 }, { tool: 3 }, { tool: 4 }]);
});

it('translates the names of hosted tools for a ChatGPT login', () => {
  const names = ['web_search', 'web_search_2025_08_26', 'web_search_preview', 'web_search_x', 'mcp'];
  expect(names.map((type) => chatgptTool({ type, filters: null }))).toEqual([
    { type: 'web_search', filters: null },
    { type: 'web_search', filters: null },
    { type: 'web_search', filters: null },
    null,
    null,
  ]);
});

it('does not send the model of a hosted tool to a backend that chooses it itself', () => {
  const tools: readonly Tool[] = [hosted('image_generation'), { ...hosted('image_generation'), model: 'm' }];
  expect(lostToolFields({ tools, items: [] }, toolRulesOf(PROVIDER))).toEqual([]);
  expect(lostToolFields({ tools, items: [] }, toolRulesOf(CHATGPT))).toEqual([
    { toolField: { tool: 1, field: 'model' } },
  ]);
});

it('merges loaded tools into the list if the backend may not know the item and the client did not choose it', () => {
  const item = { kind: 'loaded-tools', raw: { type: 'additional_tools' }, tools: [] } as const;
  const openai = { ...PROVIDER, takes: new Set(['additional_tools'] as const) };
  const merged = [CHATGPT, PROVIDER, openai].map((profile) => {
    const rules = toolRulesOf(profile);
    return [rules.isMergedIntoTools(item), rules.isMergedIntoTools({ ...item, isOurs: true })];
  });
  expect(merged).toEqual([
    [true, true],
    [false, true],
    [false, false],
  ]);
});
