import { describe, expect, it } from 'vitest';

import { NO_MCP } from '../../../../test/support/no-mcp.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import { functionTool, NO_SAMPLING, turnOf } from '../../../../test/support/turn-request.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { Item, Produced } from '../../../canonical/request/item.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { OTHER_HISTORY } from '../../../codex/translate/fit-history.ts';
import { rpcDraft } from './draft.ts';

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
