import { expect, it } from 'vitest';

import { functionTool } from '../../../../test/support/turn-request.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { HostedTool, Tool } from '../../../canonical/request/tool.ts';
import { lostToolFields, refusedTools } from '../../../codex/capabilities/tool-kinds.ts';
import { RPC_TOOLS } from './tool-rules.ts';

const hosted = (type: string): HostedTool => ({ kind: 'hosted', raw: { type } });
const bringing = (...tools: readonly Tool[]): Item => ({
  kind: 'loaded-tools',
  raw: { type: 'additional_tools' },
  tools,
});

it('rejects hosted tools, wherever they are declared', () => {
  const tools: readonly Tool[] = [
    functionTool('f'),
    { kind: 'custom', name: 'c', description: null, format: null },
    hosted('web_search_preview_2025_03_11'),
    hosted('tool_search'),
    hosted('mcp'),
  ];
  const items = [bringing(functionTool('g'), hosted('shell'))];
  const why = "is of type 'shell', which needs the relay of this server (PROXY_WIRE)";
  expect(refusedTools({ tools, items }, RPC_TOOLS, 'responses')).toEqual([
    {
      path: { tool: 2 },
      kind: 'unsupported_tool',
      why: why.replace('shell', 'web_search_preview_2025_03_11'),
    },
    { path: { item: 0 }, kind: 'unsupported_tool', why },
  ]);
});

it('names tool search and every additional field as lost', () => {
  const more = { defer_loading: true, allowed_callers: ['direct'] };
  const tools = [functionTool('f', { more }), hosted('tool_search')];
  const items = [bringing(functionTool('g', { more: { x: 1 } }))];
  expect(lostToolFields({ tools, items }, RPC_TOOLS)).toEqual([
    { tool: 1 },
    { toolField: { tool: 0, field: 'defer_loading' } },
    { toolField: { tool: 0, field: 'allowed_callers' } },
    { toolField: { item: 0, tool: 0, field: 'x' } },
  ]);
});
