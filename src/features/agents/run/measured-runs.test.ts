import { once } from 'node:events';

import { expect, it } from 'vitest';

import { recordingTrace } from '../../../../test/support/recording-trace.ts';
import {
  ACCEPTED,
  called,
  ended,
  ScriptedRuns,
  waiting,
  workspaceNamed,
  type RunScript,
} from '../../../../test/support/scripted-runs.ts';
import { collect, fixedAmbient } from '../../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';
import { agentError } from '../failures.ts';
import { measuredRuns } from './measured-runs.ts';
import type { AgentRunRequest } from './port.ts';

const WEB = workspaceNamed('web');
const COMMAND = { callId: 'c1', name: 'exec_command', input: '{"cmd":"ls"}', output: 'a' } as const;

const setUp = (script: RunScript) => {
  const counted: string[] = [];
  const inner = new ScriptedRuns(script);
  const trace = recordingTrace(() => {});
  const runs = measuredRuns(inner, {
    clock: fixedAmbient().clock,
    reports: {
      onInside() {},
      onRun: (workspace, outcome, seconds) => counted.push(`${workspace} ${outcome} ${seconds}`),
      onCall: (workspace, tool, outcome) => counted.push(`${workspace} ${tool} ${outcome}`),
      onApproval: (workspace, decision, count) => counted.push(`${workspace} ${decision} ${count}`),
    },
  });
  const start = (different: Partial<AgentRunRequest> = {}, signal = new AbortController().signal) =>
    runs.start(
      {
        workspace: WEB,
        access: 'write',
        request: turnRequest(),
        context: turnContext({ trace }),
        engine: { plan: () => expect.unreachable() },
        tools: null,
        needsApproval: () => false,
        approved: [],
        maxCalls: null,
        ...different,
      },
      signal,
    );
  const facts = () => trace.finish().spans.map((span) => [span.name, span.facts]);
  return { counted, inner, start, facts };
};

it('counts the calls and the end of a run, which is a part of its request', async () => {
  const { counted, start, facts, inner } = setUp(() => [ACCEPTED, ...called('web', COMMAND), ended()]);
  const run = await start();
  inner.started[0]?.context.trace.begin('tool', { tool: 'exec_command' }).end();
  await collect(run.events);
  expect(counted).toEqual(['web exec_command completed', 'web completed 0']);
  expect(facts()).toEqual([
    ['run', { workspace: 'web', calls: 1, waits: false, end: 'completed' }],
    ['tool', { tool: 'exec_command' }],
  ]);
});

it('counts approvals', async () => {
  const { counted, start, facts } = setUp(() => [
    ACCEPTED,
    ...waiting('web', { callId: 'c1', name: 'exec_command', input: '{}' }),
    ...waiting('web', { callId: 'c2', name: 'apply_patch', input: '' }),
    ended(),
  ]);
  const call = {
    kind: 'tool-call',
    tool: 'function',
    callId: 'c0',
    name: 'exec_command',
    input: '{}',
  } as const;
  await collect((await start({ approved: [{ requestId: 'mcpr_c0', call }] })).events);
  expect(counted).toEqual(['web approved 1', 'web asked 2', 'web waiting 0']);
  expect(facts()).toEqual([['run', { workspace: 'web', calls: 0, waits: true, end: 'waiting' }]]);
});

it('tells how a run has ended', async () => {
  const { counted, start } = setUp(async function* (_, signal) {
    yield ACCEPTED;
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason as Error;
  });
  const stop = new AbortController();
  const reading = collect((await start({}, stop.signal)).events);
  stop.abort(new Error('cancelled'));
  await expect(reading).rejects.toThrow('cancelled');
  for await (const _ of (await start()).events) break;
  expect(counted).toEqual(['web cancelled 0', 'web cancelled 0']);
});

it('counts a run that did not start, but none without a place or a workspace', async () => {
  const { counted, inner, start } = setUp(() => [ACCEPTED, ended()]);
  inner.refusal = gatewayError('worker_unavailable');
  await expect(start()).rejects.toMatchObject({ failure: { code: 'worker_unavailable' } });
  inner.refusal = agentError('workspace_busy');
  await expect(start()).rejects.toMatchObject({ failure: { code: 'workspace_busy' } });
  await collect((await start({ workspace: null })).events);
  expect(counted).toEqual(['web failed 0']);
});
