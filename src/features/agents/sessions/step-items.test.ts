import { describe, expect, it } from 'vitest';

import type { HostedCall, Produced } from '../../../canonical/request/item.ts';
import type { AgentEvent, ToolProgress } from '../run/port.ts';
import type { SessionItemRow } from '../store/port.ts';
import type { SessionEvent, SessionItem } from './objects.ts';
import { StepItems } from './step-items.ts';

const play = (events: readonly AgentEvent[], usedIds: readonly string[] = []) => {
  const shown: SessionEvent[] = [];
  const stored: SessionItemRow[] = [];
  const rows = new Map<number, SessionItemRow>();
  let minted = 0;
  const items = new StepItems(
    {
      sessionId: 'asess_1',
      turnId: 'turn_1',
      nextIndex: 4,
      nextItem: 10,
      usedIds: new Set(usedIds),
      folder: '/srv/demo',
      approvals: new Map(),
      mintId: (prefix) => `${prefix}_new${(minted += 1)}`,
      onCommand() {},
    },
    {
      event: (event) => void shown.push(event),
      row(row) {
        stored.push(row);
        rows.set(row.pos, { ...rows.get(row.pos), ...row });
      },
    },
  );
  for (const event of events) items.add(event);
  items.close();
  const done = shown.flatMap((event) =>
    event.type.endsWith('item.done') && 'item' in event ? [event.item] : [],
  );
  return {
    items,
    done,
    types: shown.map(({ type }) => type.replace('agent.session.turn.', '')),
    rows: [...rows.values()],
    shown,
    stored,
  };
};

const call = (name: string, given: object, output: string | null): readonly AgentEvent[] => {
  const item: Produced<HostedCall> = {
    kind: 'hosted-call',
    id: 'mcp_c1',
    modelCallId: 'c1',
    raw: { type: 'mcp_call', server_label: 'demo', name, arguments: '' },
  };
  const raw = { ...item.raw, arguments: JSON.stringify(given), output };
  return [
    { type: 'item-started', item },
    { type: 'item-delta', itemId: item.id, at: 'input', delta: raw.arguments },
    { type: 'item-ended', item: { ...item, raw, status: 'completed' } },
  ];
};

describe('the items of a step', () => {
  it('have a command that never ran', () => {
    const { done, rows } = play(call('exec_command', { cmd: 'rm -rf /', workdir: 'src' }, 'rejected'));
    expect(done).toEqual([
      {
        id: 'c1',
        type: 'command_execution',
        turn_id: 'turn_1',
        command: 'rm -rf /',
        cwd: '/srv/demo/src',
        status: 'failed',
        output: 'rejected',
        exit_code: null,
        duration_ms: null,
      },
    ]);
    expect(JSON.parse(rows[0]?.raw ?? '')).toMatchObject([{ callId: 'c1' }, { output: 'rejected' }]);
  });

  it('have what is left of a command if its run breaks off', () => {
    const [started, delta] = call('exec_command', { cmd: 'sleep 1' }, null);
    const { done, rows } = play([
      started!,
      delta!,
      {
        type: 'tool-progress',
        itemId: 'mcp_c1',
        progress: { kind: 'command-started', command: 'sh', cwd: '/x' },
      },
      { type: 'item-status', itemId: 'mcp_c1', status: 'in_progress', more: { output_delta: 'half' } },
    ]);
    expect(done).toMatchObject([{ status: 'failed', output: 'half', exit_code: -1 }]);
    // The model is not left with a call that has no output.
    expect(JSON.parse(rows[0]?.raw ?? '')).toMatchObject([
      { input: '{"cmd":"sleep 1"}' },
      { output: 'aborted' },
    ]);
  });

  describe('have a command that goes on after its call has ended', () => {
    const [started, delta, over] = call('exec_command', { cmd: 'make' }, 'still running');
    const progress = (reported: ToolProgress['progress']): AgentEvent => ({
      type: 'tool-progress',
      itemId: 'mcp_c1',
      progress: reported,
    });
    const message: Produced = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] };
    const going: readonly AgentEvent[] = [
      started!,
      delta!,
      progress({ kind: 'command-started', command: 'make', cwd: '/x' }),
      { type: 'item-status', itemId: 'mcp_c1', status: 'in_progress', more: { output_delta: 'a' } },
      progress({ kind: 'command-continues' }),
      over!,
      { type: 'item-ended', item: { ...message, status: 'completed' } },
      progress({ kind: 'command-output', delta: 'b' }),
    ];
    const heard = [{ input: '{"cmd":"make"}' }, { output: 'still running' }];

    it('until it ends', () => {
      const ended = { kind: 'command-ended', status: 'failed', output: 'abc', exitCode: 3 } as const;
      const late = progress({ kind: 'command-output', delta: 'late' });
      const { shown, done, rows } = play([...going, progress({ ...ended, durationMs: 9 }), late]);
      expect(done).toMatchObject([
        { type: 'message' },
        { id: 'c1', status: 'failed', output: 'abc', exit_code: 3, duration_ms: 9 },
      ]);
      const outputs = shown.flatMap((event) =>
        event.type === 'agent.output.command_execution_output.delta'
          ? [[event.output_index, event.delta]]
          : [],
      );
      expect(outputs).toEqual([
        [4, 'a'],
        [4, 'b'],
        [4, 'c'],
      ]);
      expect(JSON.parse(rows[0]?.body ?? '')).toMatchObject({ status: 'failed', output: 'abc' });
      expect(JSON.parse(rows[0]?.raw ?? '')).toMatchObject(heard);
    });

    it('or until the run ends', () => {
      const { done, rows } = play(going);
      expect(done).toMatchObject([
        { type: 'message' },
        { id: 'c1', status: 'failed', output: 'ab', exit_code: -1, duration_ms: null },
      ]);
      expect(JSON.parse(rows[0]?.raw ?? '')).toMatchObject(heard);
    });

    it('and what the model has heard of it meanwhile', () => {
      const { stored } = play(going);
      const first = stored.find(({ raw }) => raw?.includes('still running'));
      expect(JSON.parse(first?.body ?? '')).toMatchObject({ status: 'in_progress', output: null });
    });
  });

  it('have the changes of a patch that was refused', () => {
    const patch =
      '*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-x\n+y\n*** Delete File: c.txt\n*** End Patch';
    const { done } = play(call('apply_patch', { patch }, '\nverification failed: a.txt\nmore'));
    expect(done).toMatchObject([
      {
        type: 'mcp_call',
        name: 'apply_patch',
        status: 'failed',
        error: 'verification failed: a.txt',
        arguments: {
          changes: [
            { path: 'a.txt', kind: 'update', move_path: 'b.txt', diff: '@@\n-x\n+y' },
            { path: 'c.txt', kind: 'delete', move_path: null, diff: '' },
          ],
        },
      },
    ]);
  });

  it('have other ids than those of earlier items', () => {
    const message: Produced = { kind: 'message', id: 'msg_1', role: 'assistant', parts: [] };
    const { done, items } = play(
      [
        { type: 'item-started', item: message },
        {
          type: 'item-ended',
          item: { ...message, parts: [{ kind: 'text', text: 'Hi' }], status: 'completed' },
        },
        {
          type: 'item-ended',
          item: {
            kind: 'tool-call',
            id: 'fc',
            tool: 'function',
            callId: 'c9',
            name: 'f',
            input: 'no JSON',
            status: 'completed',
          },
        },
      ],
      ['msg_1', 'c9'],
    );
    expect(done.map(({ id }: SessionItem) => id)).toEqual(['item_new1']);
    expect(items.asked).toMatchObject([{ itemId: 'fc_new2', callId: 'c9', arguments: 'no JSON' }]);
    expect([items.nextIndex, items.nextItem]).toEqual([5, 11]);
  });

  it('do not show raw reasoning, and close what a cut run left open', () => {
    const item: Produced = { kind: 'reasoning', id: 'rs_1', summary: [] };
    const { types, done } = play([
      { type: 'item-started', item },
      { type: 'item-delta', itemId: 'rs_1', at: { list: 'reasoning', index: 0 }, delta: 'secret' },
      { type: 'item-delta', itemId: 'rs_1', at: { list: 'summary', index: 0 }, delta: 'I' },
    ]);
    expect(types).toEqual([
      'item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'item.done',
    ]);
    expect(done).toMatchObject([{ status: 'incomplete', summary: [{ text: 'I' }] }]);
  });
});
