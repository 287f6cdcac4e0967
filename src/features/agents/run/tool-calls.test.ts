import { describe, expect, it } from 'vitest';

import { checkGrammar } from '../../../../test/support/grammar.ts';
import { fixedAmbient } from '../../../../test/support/turn-events.ts';
import { NO_TRACE } from '../../../canonical/context/trace.ts';
import type { ToolCall, ToolOutput } from '../../../canonical/request/item.ts';
import type { ItemCompletedNotification } from '../../../codex/protocol/generated/v2/ItemCompletedNotification.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isTurnEvent, type AgentEvent } from './port.ts';
import { codexToolOf, RunCalls } from './tool-calls.ts';

type CodexItem = ItemCompletedNotification['item'];

const EXEC: ToolCall = {
  kind: 'tool-call',
  tool: 'function',
  callId: 'c1',
  name: 'exec_command',
  input: '{"cmd":"echo \'a b\'","workdir":"src"}',
};
const PATCH: ToolCall = { ...EXEC, tool: 'custom', callId: 'p1', name: 'apply_patch', input: '' };

const poll = (callId: string, session: number): ToolCall => ({
  ...EXEC,
  callId,
  name: 'write_stdin',
  input: JSON.stringify({ session_id: session }),
});

const outputOf = (callId: string, output: ToolOutput['output'], tool: ToolOutput['tool'] = 'function') =>
  ({ kind: 'tool-output', tool, callId, output }) as const;

const heard = (text: string, state = 'Process exited with code 0'): string =>
  `Chunk ID: 4a8c28\nWall time: 0.5000 seconds\n${state}\nOriginal token count: 2\nOutput:\n${text}`;

const command = (
  id: string,
  different: Partial<Extract<CodexItem, { type: 'commandExecution' }>> = {},
): CodexItem => ({
  type: 'commandExecution',
  id,
  pluginId: null,
  scriptPath: null,
  command: '/bin/bash -lc x',
  cwd: '/srv/shop',
  processId: '1',
  source: 'unifiedExecStartup',
  status: 'inProgress',
  commandActions: [],
  aggregatedOutput: null,
  exitCode: null,
  durationMs: null,
  ...different,
});

const runCalls = () => {
  const events: AgentEvent[] = [];
  const calls = new RunCalls({
    label: 'shop',
    folder: '/srv/shop',
    emit: (event) => events.push(event),
    hasRoom: () => true,
    ids: fixedAmbient().ids,
    trace: NO_TRACE,
  });
  const begin = (call: ToolCall, pieces: readonly string[] = [call.input]): void => {
    calls.begin(call, null);
    for (const piece of pieces) calls.write(call.callId, piece);
    calls.ready(call);
  };
  /** What was shown since the last time, in short. */
  const shown = (): readonly unknown[] =>
    events.splice(0).map((event) => {
      switch (event.type) {
        case 'item-delta':
          return event.delta;
        case 'item-status':
          return [event.of, event.status, event.more?.['output_delta']]
            .filter((part) => typeof part === 'string')
            .join(' ');
        case 'item-started':
        case 'item-ended':
          return [event.type, event.item.id];
        case 'tool-progress':
          return event.progress;
        case 'turn-accepted':
        case 'turn-ended':
        case 'steered':
          return event.type;
        default:
          return assertNever(event);
      }
    });
  return { calls, events, begin, shown };
};

describe('RunCalls', () => {
  it('shows a command from its beginning to its end, in this order', () => {
    const { calls, events, begin } = runCalls();
    begin(EXEC, ['{"cmd":"echo', ' \'a b\'","workdir":"src"}']);
    calls.itemStarted(command('c1'));
    calls.outputDelta('c1', 'a');
    calls.itemCompleted(
      command('c1', { status: 'completed', aggregatedOutput: 'a b\n', exitCode: 0, durationMs: 7 }),
    );
    calls.end(outputOf('c1', heard('a b\n')));
    calls.stop();
    expect(checkGrammar([...events.filter(isTurnEvent), END])).toEqual([]);
    expect(
      events.map((event) => (event.type === 'item-status' ? [event.status, event.more] : event.type)),
    ).toEqual([
      'item-started',
      ['in_progress', undefined],
      'item-delta',
      'item-delta',
      ['done', { arguments: EXEC.input }],
      'tool-progress',
      ['in_progress', { output_delta: 'a' }],
      ['in_progress', { output_delta: ' b\n' }],
      'tool-progress',
      ['completed', undefined],
      'item-ended',
    ]);
    expect(events.at(-1)).toMatchObject({
      item: { raw: { status: 'completed', arguments: EXEC.input, output: heard('a b\n'), error: null } },
    });
  });

  it('reports a command of which codex reports nothing', () => {
    const { calls, begin, shown } = runCalls();
    begin(EXEC);
    shown();
    calls.end(outputOf('c1', heard('a b\n', 'Process exited with code 3')));
    expect(shown()).toEqual([
      {
        kind: 'command-started',
        command: String.raw`/bin/bash -lc 'echo '\''a b'\'''`,
        cwd: '/srv/shop/src',
      },
      'in_progress a b\n',
      { kind: 'command-ended', status: 'failed', output: 'a b\n', exitCode: 3, durationMs: 500 },
      'completed',
      ['item-ended', 'mcp_c1'],
    ]);
    begin({ ...EXEC, callId: 'c2' });
    shown();
    calls.end(outputOf('c2', 'exec_command failed'));
    expect(shown()).toEqual(['completed', ['item-ended', 'mcp_c2']]);
    expect(calls.isEmpty).toBe(true);
  });

  it('shows what a program writes in the call that waits for it', () => {
    const { calls, begin, shown } = runCalls();
    begin(EXEC);
    calls.end(outputOf('c1', heard('', 'Process running with session ID 47')));
    begin(poll('w1', 48));
    begin(poll('w2', 47));
    shown();
    calls.outputDelta('c1', 'later');
    expect(shown()).toEqual(['in_progress later']);
    calls.stop();
    expect(shown()).toEqual([{ kind: 'command-output', delta: 'later' }]);
  });

  describe('a command that goes on after its call has ended', () => {
    const running = heard('a', 'Process running with session ID 47');
    /** The call has ended, and the command goes on. */
    const going = () => {
      const scene = runCalls();
      scene.begin(EXEC);
      scene.calls.itemStarted(command('c1'));
      for (const text of ['a', 'b']) scene.calls.outputDelta('c1', text);
      scene.shown();
      scene.calls.end(outputOf('c1', running));
      return scene;
    };

    it('says so before the call ends, and shows its output until codex reports its end', () => {
      const { calls, events, shown } = going();
      expect(shown()).toEqual([
        'in_progress b',
        { kind: 'command-continues' },
        'completed',
        ['item-ended', 'mcp_c1'],
      ]);
      expect(calls.isEmpty).toBe(true);
      calls.outputDelta('c1', 'c');
      calls.itemCompleted(
        command('c1', { status: 'failed', aggregatedOutput: 'abcd', exitCode: 3, durationMs: 7 }),
      );
      expect(events.map((event) => event.type === 'tool-progress' && event.itemId)).toEqual([
        'mcp_c1',
        'mcp_c1',
      ]);
      expect(shown()).toEqual([
        { kind: 'command-output', delta: 'cd' },
        { kind: 'command-ended', status: 'failed', output: 'abcd', exitCode: 3, durationMs: 7 },
      ]);
      calls.outputDelta('c1', 'late');
      calls.itemCompleted(command('c1', { status: 'completed' }));
      calls.stop();
      expect(shown()).toEqual([]);
    });

    it('has ended when the model hears so, if codex reports nothing', async () => {
      const { calls, begin, shown } = going();
      begin(poll('w1', 47));
      shown();
      calls.end(outputOf('w1', heard('b', 'Process running with session ID 47')));
      expect(shown()).toEqual(['completed', ['item-ended', 'mcp_w1']]);
      begin(poll('w2', 47));
      shown();
      const over = outputOf('w2', heard('c', 'Process exited with code 0'));
      await calls.reported([over]);
      expect(shown()).toEqual([]);
      calls.end(over);
      expect(shown()).toEqual([
        { kind: 'command-output', delta: 'c' },
        { kind: 'command-ended', status: 'completed', output: 'abc', exitCode: 0, durationMs: null },
        'completed',
        ['item-ended', 'mcp_w2'],
      ]);
    });

    it('is waited for when the model hears of its end', async () => {
      const { calls, begin, shown } = going();
      begin(poll('w1', 47));
      shown();
      const over = outputOf('w1', heard('b', 'Process exited with code 0'));
      const waiting = calls.reported([over]);
      calls.itemCompleted(command('c1', { status: 'completed', aggregatedOutput: 'x', exitCode: 0 }));
      await waiting;
      calls.end(over);
      expect(shown()).toEqual([
        { kind: 'command-ended', status: 'completed', output: 'x', exitCode: 0, durationMs: null },
        'completed',
        ['item-ended', 'mcp_w1'],
      ]);
    });

    it('is not one that codex has reported as ended', () => {
      const { calls, begin, shown } = runCalls();
      begin(EXEC);
      calls.itemCompleted(command('c1', { status: 'completed', aggregatedOutput: 'a', exitCode: 0 }));
      shown();
      calls.end(outputOf('c1', running));
      expect(shown()).toEqual(['completed', ['item-ended', 'mcp_c1']]);
    });

    it('is one of as many as codex has at most', () => {
      const { calls, begin, events } = runCalls();
      for (let nth = 1; nth <= 70; nth += 1) {
        begin({ ...EXEC, callId: `c${nth}` });
        calls.end(outputOf(`c${nth}`, heard('', `Process running with session ID ${nth}`)));
      }
      const continuing = events.filter(
        (event) => event.type === 'tool-progress' && event.progress.kind === 'command-continues',
      );
      expect(continuing).toHaveLength(64);
    });
  });

  it('shows a patch as a member of an object, whatever its pieces', () => {
    const { calls, events, begin } = runCalls();
    const input = '*** "😀"\n\t\\x';
    const halves = ['*** "', '\ud83d', '\ude00"\n', '\t\\x'];
    begin({ ...PATCH, input }, halves);
    calls.itemStarted({
      type: 'fileChange',
      id: 'p1',
      status: 'inProgress',
      changes: [
        { path: '/srv/shop/a.ts', kind: { type: 'update', move_path: '/srv/shop/b.ts' }, diff: '@@' },
        { path: '/srv/other', kind: { type: 'delete' }, diff: '' },
      ],
    });
    calls.end(outputOf('p1', 'patch rejected by user', 'custom'));
    const told = events.flatMap((event) => (event.type === 'item-delta' ? [event.delta] : []));
    expect(told.join('')).toBe(JSON.stringify({ patch: input }));
    expect(events.at(-1)).toMatchObject({
      item: { raw: { arguments: JSON.stringify({ patch: input }), output: 'patch rejected by user' } },
    });
    expect(events.find(({ type }) => type === 'tool-progress')).toMatchObject({
      progress: {
        kind: 'patch-started',
        changes: [
          { path: 'a.ts', change: 'update', movePath: 'b.ts', diff: '@@' },
          { path: '/srv/other', change: 'delete', movePath: null, diff: '' },
        ],
      },
    });
  });

  it('ends what has not finished as failed, with its arguments so far', () => {
    const { calls, events, begin } = runCalls();
    begin(EXEC);
    calls.begin(PATCH, 'mcpr_p1');
    calls.write('p1', 'half');
    expect(calls.failAll('Too late.').map(({ callId }) => callId)).toEqual(['c1', 'p1']);
    expect(checkGrammar([...events.filter(isTurnEvent), END])).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      item: {
        raw: {
          status: 'failed',
          arguments: '{"patch":"half"}',
          output: null,
          error: { type: 'mcp_protocol_error', code: -32_603, message: 'Too late.' },
          approval_request_id: 'mcpr_p1',
        },
      },
    });
    expect(calls.failAll('Again.')).toEqual([]);
  });

  it('shows what the model heard in parts as JSON, and a call that waits for approval as a request', () => {
    const { calls, events, begin } = runCalls();
    begin({ ...EXEC, callId: 'v1', name: 'view_image' });
    calls.end(outputOf('v1', [{ kind: 'image', url: 'data:image/png;base64,AA', detail: 'high' }]));
    expect(events.at(-1)).toMatchObject({
      item: {
        raw: { output: '[{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"high"}]' },
      },
    });
    calls.ask({ ...PATCH, input: 'x' });
    calls.ask({ ...EXEC, callId: 'an id with spaces' });
    expect(events.slice(-4).flatMap((event) => (event.type === 'item-ended' ? [event.item] : []))).toEqual([
      {
        kind: 'opaque',
        id: 'mcpr_p1',
        raw: {
          type: 'mcp_approval_request',
          server_label: 'shop',
          name: 'apply_patch',
          arguments: '{"patch":"x"}',
        },
      },
      expect.objectContaining({ id: 'mcpr_minted1' }),
    ]);
  });

  it('waits for a report of codex that is late, and not for ever', async () => {
    const { calls, begin, shown } = runCalls();
    begin(EXEC);
    calls.itemStarted(command('c1'));
    shown();
    const waiting = calls.reported([outputOf('c1', heard('x'))]);
    calls.itemCompleted(command('c1', { status: 'completed', aggregatedOutput: 'x', exitCode: 0 }));
    await waiting;
    begin({ ...EXEC, callId: 'c2' });
    calls.itemStarted(command('c2'));
    await calls.reported([outputOf('c2', heard('x', 'Process running with session ID 1'))]);
    await calls.reported([outputOf('c2', heard('x'))]);
    expect(shown()).toContainEqual(expect.objectContaining({ kind: 'command-ended', output: 'x' }));
  });
});

const END = { type: 'turn-ended', outcome: { kind: 'completed' }, usage: null, at: 1 } as const;

it.each([
  [EXEC, 'exec_command'],
  [PATCH, 'apply_patch'],
  [{ ...EXEC, name: 'apply_patch' }, 'apply_patch'],
  [{ ...EXEC, namespace: 'mcp__a' }, null],
  [{ ...EXEC, tool: 'custom' as const }, null],
  [{ ...EXEC, name: 'weather' }, null],
])('tells the tools of codex from others: %j', (call, tool) => {
  expect(codexToolOf(call)).toBe(tool);
});
