import { describe, expect, it } from 'vitest';
import {
  completed,
  note,
  raw,
  rawCall,
  rawDone,
  rawMessage,
  start,
  text,
} from '../../../test/support/rpc-notes.ts';
import {
  callDelta,
  callEnded,
  callStarted,
  callTold,
  END,
  messageTold,
} from '../../../test/support/item-events.ts';
import { ModelBudget } from '../../canonical/context/model-budget.ts';
import { failure } from '../../canonical/failure/failure.ts';
import type { FindMcpTool } from './mcp-calls.ts';
import { MAX_ITEMS } from './turn-items.ts';
describe('calls', () => {
  it("end the turn when the model's answer has ended", () => {
    const { one, run } = start();
    const events = run(rawCall('a', 'f', '{"x":1}'), rawCall('b', 'g', ''), rawDone(null));
    expect(events).toEqual([
      ...callTold('a', '{"x":1}'),
      callStarted('b', { name: 'g' }),
      // Missing arguments are an empty object for every client.
      callDelta('b', '{}'),
      callEnded('b', '{}', { name: 'g' }),
      { type: 'turn-ended', outcome: { kind: 'tool-calls' }, usage: null, at: 1_800_000_000_000 },
    ]);
    expect([one.ended, run(completed(), text('m', 'late'))]).toEqual([true, []]);
  });

  it('are limited to one if the client asks for that', () => {
    const { run, anomalies } = start({ parallelToolCalls: false });
    const events = run(rawCall('a', 'f'), rawCall('b', 'g'), rawDone());
    expect(events.filter((event) => event.type === 'item-started')).toHaveLength(1);
    expect(anomalies).toEqual(['second-call-dropped']);
  });

  it.each([
    ['a function that was not declared', rawCall('x', 'nope')],
    ['a custom tool', raw({ type: 'custom_tool_call', id: 'x', call_id: 'c', name: 'f', input: '' })],
    ['a shell', raw({ type: 'local_shell_call', id: 'x', call_id: 'c' })],
  ])('of %s are hidden and do not end the turn', (_, call) => {
    const { run, anomalies } = start();
    const output = raw({ type: 'function_call_output', id: 'o', call_id: 'c', output: 'unsupported call' });
    expect(run(call, rawDone(null), output, rawMessage('m', 'a'), rawDone(null), completed())).toEqual([
      ...messageTold('m', 'a'),
      END,
    ]);
    expect(anomalies).toEqual(['undeclared-call']);
  });

  it('of unknown tools fail the turn if codex does not answer them', () => {
    const { run } = start();
    expect(run(rawMessage('m', 'a'), rawCall('x', 'nope'), rawDone(null), completed()).at(-1)).toMatchObject({
      outcome: { kind: 'failed', failure: { kind: 'upstream_error' } },
    });
    // An empty answer counts too.
    const { run: again } = start();
    expect(again(rawCall('x', 'nope'), rawDone(null), rawDone(null), completed())).toEqual([END]);
  });

  it('belong to an answer without the items before it', () => {
    const { one, run } = start();
    const reasoning = (id: string) => raw({ type: 'reasoning', id, summary: [], encrypted_content: id });
    run(reasoning('r1'), rawCall('x', 'nope'), rawDone(null));
    run(raw({ type: 'function_call_output', id: 'o', call_id: 'call_x', output: 'unsupported call' }));
    run(reasoning('r2'), rawCall('a', 'f'), rawDone(null));
    expect(one.answer.map(({ id }) => id)).toEqual(['r2', 'a']);
  });

  it('end the turn if there are too many items', () => {
    const { run } = start();
    const events = run(...Array.from({ length: MAX_ITEMS + 2 }, (_, index) => rawCall(`a${index}`, 'f')));
    expect(events.filter(({ type }) => type === 'item-started')).toHaveLength(MAX_ITEMS + 1);
    expect(events.at(-1)).toMatchObject({ outcome: { failure: { kind: 'too_many_output_items' } } });
  });

  it('of unknown tools end the turn if no other model request may follow', () => {
    const budget = new ModelBudget(2);
    budget.take();
    const { one, run } = start({ budget });
    const again = [rawCall('x', 'nope'), rawDone(null)];
    expect([run(...again), one.ended]).toEqual([[], false]);
    expect(run(...again)).toEqual([{ ...END, outcome: { kind: 'failed', failure: budget.exceeded() } }]);
    expect([one.ended, budget.used]).toEqual([true, 2]);
  });

  it('that the app-server runs count, also if they have ended before the answer has', () => {
    const budget = new ModelBudget(2);
    budget.take();
    const findMcpTool: FindMcpTool = ({ name }) => ({ label: 'web', name, needsApproval: false });
    const { one, run } = start({ budget, findMcpTool });
    const round = (n: number) => [
      raw({
        type: 'function_call',
        id: `fc_${n}`,
        call_id: `call_${n}`,
        name: 'add',
        arguments: '{}',
        namespace: 'mcp__web',
      }),
      note('item/completed', {
        item: {
          type: 'mcpToolCall',
          id: `call_${n}`,
          tool: 'add',
          status: 'completed',
          result: { content: [{ type: 'text', text: '5' }] },
          error: null,
        },
      }),
      rawDone(null),
    ];
    run(...round(1));
    expect([one.ended, budget.used]).toEqual([false, 2]);
    expect(run(...round(2)).at(-1)).toMatchObject({ outcome: { failure: budget.exceeded() } });
    expect([one.ended, budget.used]).toEqual([true, 2]);
  });

  it('of unknown tools end the turn if repeated', () => {
    const { run } = start();
    const calls = Array.from({ length: 17 }, (_, index) => rawCall(`x${index}`, 'nope'));
    expect(run(...calls)).toEqual([
      {
        type: 'turn-ended',
        outcome: {
          kind: 'failed',
          failure: failure('upstream_error', {
            message: 'The model keeps calling tools that were not declared.',
          }),
        },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });
});
