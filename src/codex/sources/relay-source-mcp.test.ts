import { describe, expect, it } from 'vitest';

import { checkGrammar } from '../../../test/support/grammar.ts';
import {
  added,
  BEGUN,
  call,
  completed,
  done,
  eventsOf,
  message,
  said,
  turnCompleted,
} from '../../../test/support/upstream-events.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { FindMcpTool } from './mcp-calls.ts';
import type { SourceSignal } from './source.ts';

const findMcpTool: FindMcpTool = ({ name, namespace }) =>
  namespace === 'mcp__web' ? { label: 'web', name, needsApproval: name === 'erase' } : null;
const mcp = (name: string, args: string, n = 1): JsonObject => ({
  ...call(name, args, n),
  namespace: 'mcp__web',
});
const ran = (more: JsonObject, n = 1): SourceSignal => ({
  kind: 'notified',
  notification: {
    method: 'item/completed',
    params: {
      item: { type: 'mcpToolCall', id: `call_${n}`, tool: 'add', result: null, error: null, ...more },
    },
  } as unknown as KnownNotification,
});
const FIVE = { status: 'completed', result: { content: [{ type: 'text', text: '5' }] } };

const brief = (signals: readonly SourceSignal[]) => {
  const { events, ended } = eventsOf(signals, { findMcpTool });
  if (ended) expect(checkGrammar(events)).toEqual([]);
  return events.map((event) => {
    if (event.type === 'item-status') return `${event.of ?? ''} ${event.status}`.trim();
    if (event.type === 'item-ended') return 'raw' in event.item ? event.item.raw : 'ended';
    return event.type === 'turn-ended' ? event.outcome.kind : event.type;
  });
};

describe('a call that the app-server runs', () => {
  const args = said('function_call_arguments.delta', { item_id: 'fc_1', output_index: 0, delta: '{"a":1}' });

  it('ends when the app-server reports it, and the turn continues', () => {
    expect(
      brief([
        BEGUN,
        added(mcp('add', '')),
        args,
        done(mcp('add', '{"a":1}')),
        completed(),
        ran(FIVE),
        BEGUN,
        done(message('done')),
        completed(),
        turnCompleted(),
      ]),
    ).toEqual([
      'item-started',
      'in_progress',
      'item-delta',
      'mcp_call_arguments done',
      'completed',
      {
        type: 'mcp_call',
        status: 'completed',
        server_label: 'web',
        name: 'add',
        arguments: '{"a":1}',
        output: '5',
        error: null,
        approval_request_id: null,
      },
      'item-started',
      'item-delta',
      'ended',
      'completed',
    ]);
  });

  it("ends before the client's calls end the turn", () => {
    const answer = [BEGUN, done(mcp('add', '{}')), done(call('f', '{}', 2), 1), completed()];
    expect(brief(answer).includes('tool-calls')).toBe(false);
    expect(brief([...answer, ran(FIVE)]).at(-1)).toBe('tool-calls');
    // codex's next request was rejected, so it ends its turn with that.
    expect(brief([...answer, turnCompleted({ message: 'unexpected status 410' })]).at(-1)).toBe('tool-calls');
  });

  it('has failed if the turn ends before it', () => {
    const events = brief([BEGUN, done(mcp('add', '{}')), completed(), turnCompleted({ message: 'x' })]);
    expect(events.slice(-2)).toMatchObject([{ status: 'failed', output: null }, 'failed']);
  });

  it('becomes an approval request if needed, which ends the turn', () => {
    const { events } = eventsOf(
      [BEGUN, added(mcp('erase', '')), args, done(mcp('erase', '{"a":1}')), completed()],
      {
        findMcpTool,
      },
    );
    const item = {
      kind: 'opaque',
      id: 'mcpr_call_1',
      raw: { type: 'mcp_approval_request', server_label: 'web', name: 'erase', arguments: '{"a":1}' },
    };
    expect(events).toMatchObject([
      { type: 'item-started', item },
      { type: 'item-ended', item },
      { type: 'turn-ended', outcome: { kind: 'completed' } },
    ]);
  });
});
