import { expect, it } from 'vitest';

import {
  ACCEPTED,
  called,
  ended,
  ScriptedRuns,
  workspaceNamed,
  type RunScript,
} from '../../../../test/support/scripted-runs.ts';
import { planOf } from '../../../../test/support/plan.ts';
import { collect, emit } from '../../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import { countedRuns } from './counted-runs.ts';
import type { AgentRun } from './port.ts';

const start = async (script: RunScript, signal = new AbortController().signal) => {
  let now = 1000;
  const counted: unknown[] = [];
  const runs = countedRuns(new ScriptedRuns(script), {
    clock: { now: () => (now += 500) },
    onStart: (...what) => counted.push(what),
    onCall: (...what) => counted.push(what),
    onEnd: (...what) => counted.push(what),
  });
  const run: AgentRun = await runs.start(
    {
      workspace: workspaceNamed('web'),
      access: 'write',
      request: turnRequest(),
      context: turnContext(),
      engine: { plan: () => planOf(() => emit([])) },
      tools: null,
      needsApproval: () => false,
      approved: [],
      maxCalls: null,
    },
    signal,
  );
  return { run, counted };
};
const CALL = called('web', { callId: 'c', name: 'exec_command', input: '{}', output: 'a' });

it('counts a run and its calls', async () => {
  const { run, counted } = await start(() => [ACCEPTED, ...CALL, ended()]);
  await collect(run.events);
  expect(counted).toEqual([['web'], ['web', 'exec_command', 'completed'], ['web', 'completed', 0.5]]);
});

it.each<[string, RunScript, (run: AgentRun, cancel: () => void) => Promise<unknown>, string]>([
  ['that is cut', () => [ACCEPTED], ({ events }) => collect(events), 'failed'],
  [
    'that throws',
    () => {
      throw new Error('a bug');
    },
    ({ events }) => collect(events).catch(() => {}),
    'failed',
  ],
  [
    'that is cancelled',
    async function* (_, signal) {
      yield ACCEPTED;
      signal.throwIfAborted();
    },
    async ({ events }, cancel) => {
      const reader = events[Symbol.asyncIterator]();
      await reader.next();
      cancel();
      await reader.next().catch(() => {});
    },
    'cancelled',
  ],
  [
    'that is never read',
    () => [ACCEPTED],
    async ({ events }) => events[Symbol.asyncIterator]().return?.(),
    'cancelled',
  ],
])('counts the end of a run %s, once', async (_, script, read, outcome) => {
  const cancelled = new AbortController();
  const { run, counted } = await start(script, cancelled.signal);
  await read(run, () => cancelled.abort());
  expect(counted).toEqual([['web'], ['web', outcome, 0.5]]);
});
