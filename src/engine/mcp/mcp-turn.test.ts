import { expect, it } from 'vitest';

import { recordingTrace } from '../../../test/support/recording-trace.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { ToolSpans } from './mcp-turn.ts';

const started = (id: string, modelCallId?: string): TurnEvent => ({
  type: 'item-started',
  item: {
    kind: 'hosted-call',
    id,
    raw: { type: 'mcp_call', server_label: 'docs', name: 'find', arguments: '' },
    ...(modelCallId === undefined ? {} : { modelCallId }),
  },
});

const ended = (id: string): TurnEvent => ({
  type: 'item-ended',
  item: {
    kind: 'hosted-call',
    id,
    raw: { type: 'mcp_call', status: 'failed', arguments: '{"secret":1}', output: 'private' },
  },
});

it('calls of MCP servers are measured by name, without their content', () => {
  const trace = recordingTrace(() => {});
  const spans = new ToolSpans(trace);
  spans.see([started('a', 'call_a'), { type: 'item-status', itemId: 'a', status: 'in_progress' }]);
  // A hosted tool of the backend is a part of its model request.
  spans.see([started('b'), started('c', 'call_c'), ended('b')]);
  spans.see([ended('a'), ended('c')]);
  const facts = { server: 'docs', tool: 'find', status: 'failed' };
  expect(trace.finish().spans).toEqual([
    { name: 'tool', parent: null, startMs: 1, endMs: 3, facts },
    { name: 'tool', parent: null, startMs: 2, endMs: 4, facts },
  ]);
});
