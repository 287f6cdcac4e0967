import { expect, it, describe } from 'vitest';

import { functionTool, NO_SAMPLING, turnOf } from '../../../../test/support/turn-request.ts';
import { NO_MCP } from '../../mcp/mcp-tools.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import type { Item, Produced } from '../../../canonical/request/item.ts';
import type { HostedTool, Tool } from '../../../canonical/request/tool.ts';
import { lostToolFields, refusedTools } from '../../../codex/capabilities/tool-kinds.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { OTHER_HISTORY } from '../../../codex/translate/fit-history.ts';
import { RPC_TOOLS, rpcDraft } from './driver.ts';

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

const STRATEGY = {
  requestFormat: 'responses',
  slug: 'm',
  instructions: 'message',
  reasoning: 'kept',
  customTools: 'functions',
  namespaces: 'kept',
  lateTools: 'in-place',
} as const;
const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const draftOf = (different: Partial<TurnRequest>, knows = true) =>
  rpcDraft({
    historyRules: OTHER_HISTORY,
    effortsOf: () => null,
    settings: { knows: () => knows },
    mcp: NO_MCP,
  })(turnOf({ items: [user], ...different }), STRATEGY);

describe('a draft over JSON-RPC', () => {
  it('names the settings without a parameter of the app-server', () => {
    const all: Partial<TurnRequest> = {
      sampling: { ...NO_SAMPLING, topP: 0.5 },
      include: ['message.output_text.logprobs'],
      truncation: 'auto',
      verbosity: 'low',
      serviceTier: 'flex',
    };
    const lost = ['sampling.topP', { include: 'message.output_text.logprobs' }, 'truncation'];
    expect(draftOf(all).unsaid).toEqual(lost);
    expect(draftOf(all, false).unsaid).toEqual([...lost, 'verbosity']);
  });

  it('names what codex changes of an output schema', () => {
    const format = { kind: 'json-schema', name: 'n', description: null, strict: false, schema: {} } as const;
    expect(draftOf({ format }).leftOut).toEqual([{ formatField: 'name' }, { formatField: 'strict' }]);
  });

  it('has safe names everywhere, also in the message about a forced call; its events have those of the caller', async () => {
    const draft = draftOf({
      tools: [functionTool('mcp')],
      toolChoice: { mode: 'named', tool: { kind: 'function', name: 'mcp' } },
    });
    expect(draft.request).toMatchObject({
      tools: [{ name: 'tool_mcp' }],
      toolChoice: { tool: { name: 'tool_mcp' } },
      items: [user, { parts: [{ text: expect.stringContaining('"tool_mcp"') as string }] }],
    });
    const called = (name: string): TurnEvent => ({
      type: 'item-started',
      item: { kind: 'tool-call', tool: 'function', id: 'i', callId: 'c', name, input: '' } as Produced,
    });
    expect(await collect(draft.shown(emit([called('tool_mcp')])))).toEqual([called('mcp')]);
  });
});
