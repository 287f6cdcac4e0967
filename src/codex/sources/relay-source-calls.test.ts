import { describe, expect, it } from 'vitest';
import {
  added,
  BEGUN,
  call,
  completed,
  done,
  eventsOf,
  message,
  replyOf,
  said,
  start,
  told,
  turnCompleted,
} from '../../../test/support/upstream-events.ts';
import { functionTool } from '../../../test/support/turn-request.ts';
import { CallableTools, type Tool } from '../../canonical/request/tool.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { SourceSignal } from './source.ts';
describe('calls', () => {
  const args = (delta: string, n = 1): SourceSignal =>
    said('function_call_arguments.delta', { item_id: `fc_${n}`, output_index: n - 1, delta });

  it('are emitted while they are written, and end the turn with their answer', () => {
    const { events, ended } = eventsOf([
      BEGUN,
      added(call('f', '')),
      args('{"a"'),
      args(':1}'),
      done(call('f', '{"a":1}')),
      completed({ usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }),
    ]);
    const item = { kind: 'tool-call', id: 'fc_1', tool: 'function', callId: 'call_1', name: 'f', input: '' };
    const delta = { type: 'item-delta', itemId: 'fc_1', at: 'input' };
    expect(events).toMatchObject([
      { type: 'item-started', item },
      { ...delta, delta: '{"a"' },
      { ...delta, delta: ':1}' },
      { type: 'item-ended', item: { ...item, input: '{"a":1}', status: 'completed' } },
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: { totalTokens: 3 } },
    ]);
    expect(ended).toBe(true);
  });

  it('keep the fields that the client has to send back', () => {
    const asked = { ...call('f', ''), caller: { type: 'program', caller_id: 'p' }, async: false, odd: 1 };
    expect(replyOf([BEGUN, added(asked), args('{}'), done(asked), completed()]).items).toEqual([
      {
        kind: 'tool-call',
        id: 'fc_1',
        tool: 'function',
        callId: 'call_1',
        name: 'f',
        input: '{}',
        more: { caller: { type: 'program', caller_id: 'p' }, async: false },
        status: 'completed',
      },
    ]);
  });

  it('have JSON arguments, and a name before they are emitted', () => {
    const nameless = { ...call('f', ''), name: '' };
    expect(
      replyOf([BEGUN, added(nameless), args('{'), done(call('f', '')), completed()]).items,
    ).toMatchObject([{ name: 'f', input: '{}', status: 'completed' }]);
  });

  it.each(['function', 'custom'] as const)('are read if only their last event has the input: %s', (tool) => {
    const [type, field] =
      tool === 'function' ? ['function_call', 'arguments'] : ['custom_tool_call', 'input'];
    const item = {
      type,
      id: 'fc_1',
      call_id: 'call_1',
      name: tool === 'function' ? 'f' : 'c',
      [field]: '',
    };
    const event = tool === 'function' ? 'function_call_arguments.done' : 'custom_tool_call_input.done';
    const whole = said(event, { item_id: 'fc_1', output_index: 0, [field]: '{ "a": 1 }' });
    const { events, anomalies } = eventsOf([BEGUN, added(item), whole, done(item), completed()], {
      callable: new CallableTools([
        functionTool('f'),
        { kind: 'custom', name: 'c', description: null, format: null },
      ]),
    });
    expect([events.at(-2), anomalies]).toMatchObject([
      { type: 'item-ended', item: { tool, input: '{ "a": 1 }', status: 'completed' } },
      [],
    ]);
  });

  it('are limited to one if the client asks for that', () => {
    const two = [added(call('f', '')), added(call('f', '', 2), 1), args('{}'), args('{}', 2)];
    const { events, anomalies } = eventsOf(
      [BEGUN, ...two, done(call('f', '{}')), done(call('f', '{}', 2), 1), completed()],
      { parallelToolCalls: false },
    );
    expect(events.filter(({ type }) => type === 'item-started')).toHaveLength(1);
    expect(anomalies).toEqual(['second-call-dropped']);
  });

  it('with the same id get different ones: the client could not answer both', () => {
    const again = { ...call('f', '{"b":2}', 2), call_id: 'call_1' };
    const signals = [BEGUN, done(call('f', '{"a":1}')), done(again, 1), completed()];
    expect(replyOf(signals).items).toMatchObject([
      { id: 'fc_1', callId: 'call_1', input: '{"a":1}' },
      { id: 'fc_2', callId: expect.stringMatching(/^call_(?!1$)/), input: '{"b":2}' },
    ]);
    expect(eventsOf(signals).anomalies).toEqual(['call-id-twice']);
  });

  const hosted = (type: string): Tool => ({ kind: 'hosted', raw: { type } });
  const shell = { type: 'shell_call', id: 'sh_1', call_id: 'call_s', action: { commands: ['ls'] } };

  it.each<[string, string, JsonObject]>([
    ['a computer', 'computer_use_preview', { type: 'computer_call', id: 'cu_1', call_id: 'call_c' }],
    ['a local shell', 'local_shell', { type: 'local_shell_call', id: 'lsh_1', call_id: 'call_l' }],
    ['a shell', 'shell', shell],
    ['a patch', 'apply_patch', { type: 'apply_patch_call', id: 'apc_1', call_id: 'call_p' }],
    ['an approval', 'mcp', { type: 'mcp_approval_request', id: 'mcpr_1' }],
  ])('may be those of a hosted tool that the client runs: %s', (_, type, item) => {
    const signals = [BEGUN, added(item), done(item), completed()];
    const declared = { callable: new CallableTools([hosted(type)]) };
    expect(replyOf(signals, declared)).toMatchObject({
      items: [{ raw: item }],
      outcome: { kind: 'completed' },
    });
    // Nothing would answer.
    const { events, ended, anomalies } = eventsOf(signals);
    expect([events, ended, anomalies]).toEqual([[], false, ['undeclared-call']]);
  });

  it('of a hosted tool are only emitted if the backend has answered them', () => {
    const output = { type: 'shell_call_output', id: 'sho_1', call_id: 'call_s', output: [] };
    const { events, ended } = eventsOf([BEGUN, done(shell), done(output, 1), completed()], {
      callable: new CallableTools([hosted('shell')]),
    });
    expect(events.filter(({ type }) => type === 'item-ended')).toHaveLength(2);
    expect(ended).toBe(false);
  });

  it.each<[string, JsonObject]>([
    ['an undeclared function', call('g', '{}')],
    ['a custom tool', { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c', name: 'f', input: 'x' }],
    ["codex's own shell", { type: 'local_shell_call', id: 'ls_1', call_id: 'c', action: {} }],
    ["codex's own search", { type: 'tool_search_call', id: 'ts_1', call_id: 'c', arguments: {} }],
  ])('of %s are hidden, and the next answer is emitted', (_, raw) => {
    const signals = [BEGUN, added(raw), done(raw), completed(), BEGUN, done(message('Then.')), completed()];
    const { events, anomalies, ended } = eventsOf(signals);
    expect(events).toMatchObject([{ type: 'item-started' }, { type: 'item-delta' }, { type: 'item-ended' }]);
    expect([anomalies, ended]).toEqual([['undeclared-call'], false]);
    expect(replyOf([...signals, turnCompleted()])).toMatchObject({ items: [told('Then.')] });
  });

  it('of undeclared tools that codex does not answer fail the turn', () => {
    const signals = [BEGUN, done(message('Let me see.')), done(call('g', '{}'), 1), completed()];
    expect(replyOf([...signals, turnCompleted()])).toMatchObject({
      items: [told('Let me see.')],
      outcome: { kind: 'failed', failure: { kind: 'upstream_error' } },
    });
  });

  it('belong to an answer without the items before it', () => {
    const { source } = start();
    const reasoning = (id: string): JsonObject => ({ type: 'reasoning', id, summary: [] });
    const first = [BEGUN, done(reasoning('rs_1')), done(call('g', '{}'), 1), completed()];
    const second = [BEGUN, done(reasoning('rs_2')), done(call('f', '{}', 2), 1), completed()];
    for (const signal of [...first, ...second]) source.take(signal);
    expect(source.answer.map(({ id }) => id)).toEqual(['rs_2', 'fc_2']);
  });

  it('of a search that the client runs are emitted unchanged and end the turn', () => {
    const search = { type: 'tool_search_call', id: 'tsc_1', call_id: 'c', execution: 'client' };
    const whole = { ...search, arguments: { query: 'q' } };
    const signals = [BEGUN, added({ ...search, arguments: {} }), done(whole), completed()];
    const tools: readonly Tool[] = [{ kind: 'hosted', raw: { type: 'tool_search', execution: 'client' } }];
    const { events, anomalies } = eventsOf(signals, { callable: new CallableTools(tools) });
    expect(events).toMatchObject([
      { type: 'item-started', item: { kind: 'hosted-call', id: 'tsc_1' } },
      { type: 'item-ended', item: { kind: 'hosted-call', id: 'tsc_1', raw: whole } },
      { type: 'turn-ended', outcome: { kind: 'completed' } },
    ]);
    expect(anomalies).toEqual([]);
  });

  it('of undeclared tools are limited', () => {
    const again = Array.from({ length: 17 }, () => [BEGUN, done(call('g', '{}')), completed()]).flat();
    expect(eventsOf(again).events).toMatchObject([
      { type: 'turn-ended', outcome: { kind: 'failed', failure: { kind: 'upstream_error' } } },
    ]);
  });

  it('next to undeclared ones are emitted and end the turn', () => {
    const reply = replyOf([BEGUN, done(call('g', '{}')), done(call('f', '{}', 2), 1), completed()]);
    expect(reply).toMatchObject({ items: [{ callId: 'call_2' }], outcome: { kind: 'tool-calls' } });
  });
});
