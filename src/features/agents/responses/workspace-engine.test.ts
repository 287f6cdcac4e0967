import { describe, expect, it } from 'vitest';

import {
  ACCEPTED,
  called,
  ended,
  said,
  ScriptedRuns,
  waiting,
  workspaceNamed,
  type RunScript,
} from '../../../../test/support/scripted-runs.ts';
import { checkGrammar } from '../../../../test/support/grammar.ts';
import { planOf } from '../../../../test/support/plan.ts';
import { collect, emit, fixedAmbient } from '../../../../test/support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../../../../test/support/turn-request.ts';
import type { TurnContext } from '../../../canonical/context/turn-context.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { failure, GatewayError, gatewayError } from '../../../canonical/failure/failure.ts';
import type { Item } from '../../../canonical/request/item.ts';
import type { HostedTool } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Engine, Plan } from '../../../engine/engine.ts';
import type { Json } from '../../../kit/json/json.ts';
import { agentError } from '../failures.ts';
import { approvalsInMemory } from './used-approvals.ts';
import { withWorkspaces, type WorkspaceEngineDeps } from './workspace-engine.ts';

const WEB = workspaceNamed('web');
const DOCS = workspaceNamed('docs');
const ALL = [WEB, DOCS];

const mcp = (label: string, more: object = {}): HostedTool => ({
  kind: 'hosted',
  raw: { type: 'mcp', server_label: label, ...more },
});
const user: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };
const raw = (type: string, more: { readonly id?: string; readonly [field: string]: Json }): Item => ({
  kind: 'opaque',
  ...(more.id === undefined ? {} : { id: more.id }),
  raw: { type, ...more },
});
const request = (callId = 'call_1'): Item =>
  raw('mcp_approval_request', {
    id: `mcpr_${callId}`,
    server_label: 'web',
    name: 'exec_command',
    arguments: '{"cmd":"ls"}',
  });
const approved = (callId = 'call_1', approve = true): Item =>
  raw('mcp_approval_response', { approval_request_id: `mcpr_${callId}`, approve });

const DONE: RunScript = () => [ACCEPTED, ...said('msg_1', 'done'), ended()];

const setUp = (script: RunScript = DONE, different: Partial<WorkspaceEngineDeps> = {}) => {
  const asked: TurnRequest[] = [];
  const planned: Partial<Plan> = {};
  const inner: Engine = {
    plan(one) {
      asked.push(one);
      return planOf(() => emit([ACCEPTED, ended()]), planned);
    },
  };
  const runs = new ScriptedRuns(script);
  const declined: string[] = [];
  const ambient = fixedAmbient();
  const engine = withWorkspaces(inner, {
    workspaces: ALL,
    usableBy: (keyId) => (keyId === 'caller' ? ALL : []),
    servers: ['tickets'],
    runs,
    approvals: approvalsInMemory(ambient.clock),
    keepApprovalsMs: 1000,
    maxWaitMs: 60_000,
    ambient,
    onDeclined: (workspace) => declined.push(workspace),
    ...different,
  });
  const plan = (one: Partial<TurnRequest> = {}, context: Partial<TurnContext> = {}): Plan =>
    engine.plan(
      turnRequest({ canApprove: true, tools: [mcp('web')], ...one }),
      turnContext({ reserve: FREE, ...context }),
    );
  const run = (...turn: Parameters<typeof plan>): Promise<TurnEvent[]> =>
    collect(plan(...turn).run(new AbortController().signal));
  return { engine, asked, planned, runs, declined, plan, run };
};

const typesOf = (events: readonly TurnEvent[]): readonly string[] =>
  events.map((event) =>
    event.type === 'item-started' && 'raw' in event.item ? event.item.raw.type : event.type,
  );
const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
    return 'no error';
  } catch (error) {
    if (error instanceof GatewayError) return error.failure.code;
    throw error;
  }
};

const FREE: NonNullable<TurnContext['reserve']> = () => Promise.resolve({ begin() {}, giveBack() {} });

describe('a turn without a workspace', () => {
  it('is that of the engine', () => {
    const { engine, plan, asked } = setUp();
    const plain = turnRequest();
    engine.plan(plain, turnContext());
    plan({ tools: [mcp('tickets'), functionTool('f')] });
    expect(asked).toMatchObject([plain, { tools: [mcp('tickets'), functionTool('f')] }]);
  });

  it('has the calls of workspaces as those of codex, and answers nothing else', async () => {
    const { plan, run, asked, runs } = setUp();
    const call = raw('mcp_call', { server_label: 'web', name: 'exec_command', arguments: '{}', output: 'a' });
    const items = [user, raw('mcp_list_tools', { server_label: 'web', tools: [] }), call, user];
    expect(plan({ items, tools: [functionTool('f')] }).refused).toEqual([]);
    expect(asked[0]?.items.map(({ kind }) => kind)).toEqual([
      'message',
      'tool-call',
      'tool-output',
      'message',
    ]);
    expect(typesOf(await run({ items, tools: [] }))).toEqual(['turn-accepted', 'turn-ended']);
    expect(runs.started).toEqual([]);
  });

  it('cannot approve calls', () => {
    const { plan } = setUp();
    const items = [user, request(), approved()];
    for (const tools of [[], [functionTool('f')], [mcp('docs')]])
      expect(plan({ items, tools }).refused).toMatchObject([
        { path: { item: 2 }, kind: 'invalid_value', why: expect.stringContaining("'web' was approved") },
      ]);
    expect(plan({ items }, { caller: { keyId: 'other' } }).refused).toMatchObject([{ path: { item: 2 } }]);
  });

  it('is refused with an unknown label, and the key’s workspaces are named', () => {
    const { plan, planned: inner } = setUp();
    const why = (labels: string) =>
      `there is no MCP server 'wbe', and no URL is given; configured are ${labels}.`;
    Object.assign(inner, { refused: [{ path: { tool: 0 }, kind: 'invalid_value', why: why("'tickets'") }] });
    const tools = [mcp('wbe')];
    expect(plan({ tools }).refused).toMatchObject([{ why: why("'tickets', 'web', 'docs'") }]);
    expect(plan({ tools }, { caller: { keyId: 'other' } }).refused).toMatchObject([
      { why: why("'tickets'") },
    ]);
  });
});

describe('a turn with a workspace', () => {
  it('is a run, with the list of its tools first', async () => {
    const script: RunScript = () => [
      ACCEPTED,
      ...called('web', { callId: 'c1', name: 'exec_command', input: '{"cmd":"ls"}', output: 'a' }),
      ...said('msg_1', 'done'),
      ended(),
    ];
    const { run, runs, asked, declined } = setUp(script);
    const tools = [functionTool('f'), mcp('web', { allowed_tools: ['exec_command'] })];
    const events = await run({ tools, maxToolCalls: 7 });
    expect(checkGrammar(events)).toEqual([]);
    expect(typesOf(events).filter((type) => !type.startsWith('item-'))).toEqual([
      'turn-accepted',
      'mcp_list_tools',
      'mcp_call',
      'turn-ended',
    ]);
    const list = events.find((event) => event.type === 'item-ended');
    expect(list).toMatchObject({
      item: {
        raw: {
          type: 'mcp_list_tools',
          server_label: 'web',
          tools: [{ name: 'exec_command', annotations: { readOnlyHint: false } }],
        },
      },
    });
    expect(runs.started).toMatchObject([
      {
        workspace: WEB,
        access: 'write',
        request: { tools: [functionTool('f')], items: [user] },
        tools: new Set(['exec_command']),
        approved: [],
        maxCalls: 7,
      },
    ]);
    expect(asked).toMatchObject([{ tools: [functionTool('f')], maxToolCalls: null }]);
    expect(declined).toEqual([]);
  });

  it('does not list the tools again', async () => {
    const { run } = setUp();
    const items = [user, raw('mcp_list_tools', { server_label: 'web', tools: [] })];
    expect(typesOf(await run({ items }))).not.toContain('mcp_list_tools');
  });

  it('names parts of the request by their own positions', async () => {
    const {
      plan,
      run,
      planned: inner,
    } = setUp(() => [{ ...ACCEPTED, ignored: ['serviceTier', { tool: 0 }, 'maxToolCalls'] }, ended()]);
    const call = raw('mcp_call', { server_label: 'web', name: 'exec_command', arguments: '{}', output: 'a' });
    Object.assign(inner, {
      ignored: [{ item: 2 }, { toolField: { tool: 0, field: 'x' } }],
      refused: [{ path: { item: 3 }, kind: 'unsupported_file', why: 'x' }],
    });
    const asked = {
      items: [user, call, user],
      tools: [mcp('web', { require_approval: 'never' }), functionTool('f')],
      contextManagement: [],
    };
    const { ignored, refused } = plan(asked);
    const expected = [{ item: 1 }, { toolField: { tool: 1, field: 'x' } }, 'contextManagement'];
    expect(ignored).toEqual(expected);
    expect(refused).toMatchObject([{ path: { item: 2 } }]);
    expect((await run(asked))[0]).toMatchObject({ ignored: [...expected, 'serviceTier'] });
  });

  it('compacts a conversation without a run', async () => {
    const { run, runs } = setUp();
    await run({ items: [user, raw('compaction_trigger', {})] });
    expect(runs.started).toEqual([]);
  });

  it('fails as the run fails', async () => {
    const never = setUp();
    never.runs.refusal = gatewayError('mcp_server_unavailable');
    expect(await codeOf(never.run())).toBe('mcp_server_unavailable');
    const early = setUp(() => [ended({ outcome: { kind: 'failed', failure: failure('worker_lost') } })]);
    expect(typesOf(await early.run())).toEqual(['turn-ended']);
    const late = setUp(async function* () {
      yield ACCEPTED;
      throw gatewayError('worker_lost');
    });
    expect((await late.run()).at(-1)).toMatchObject({ outcome: { failure: { code: 'worker_lost' } } });
    const bug = setUp(async function* () {
      yield ACCEPTED;
      throw new Error('a bug');
    });
    await expect(bug.run()).rejects.toThrow('a bug');
  });

  it('keeps what it has when its model requests are used up', async () => {
    const outcome = { kind: 'failed', failure: failure('model_request_limit_exceeded') } as const;
    const { run } = setUp(() => [ACCEPTED, ...said('msg_1', 'so far'), ended({ outcome })]);
    expect((await run()).at(-1)).toMatchObject({
      outcome: { kind: 'incomplete', reason: 'max_model_requests' },
    });
  });

  it('ends its run when the reader leaves', async () => {
    let end: unknown = null;
    const { plan, runs } = setUp(async function* (_, signal) {
      try {
        yield ACCEPTED;
        yield* said('msg_1', 'a');
      } finally {
        end = signal.aborted;
      }
    });
    for await (const event of plan().run(new AbortController().signal)) {
      if (event.type === 'item-started') break;
    }
    expect(end).toBe(true);
    expect(runs.free(WEB)).toBe(1);
  });

  it('settles before its last event is read', async () => {
    const seen: string[] = [];
    const { plan } = setUp();
    const events = plan().run(new AbortController().signal, () => seen.push('settled'));
    for await (const { type } of events) if (type === 'turn-ended') seen.push(type);
    expect(seen).toEqual(['settled', 'turn-ended']);
  });
});

describe('a workspace that is in use', () => {
  it('is a 429', async () => {
    const { run, runs } = setUp();
    runs.occupy(WEB, 1);
    await expect(run()).rejects.toMatchObject({
      failure: { status: 429, code: 'workspace_busy', retryAfterSeconds: 5 },
    });
    expect(await codeOf(run({ tools: [mcp('docs')] }))).toBe('no error');
  });

  it('is waited for if the client does not wait', async () => {
    const { run, runs } = setUp();
    runs.occupy(WEB, 1);
    const [first, second] = [run({}, { isBackground: true }), run({}, { isBackground: true })];
    await Promise.resolve();
    expect(runs.started).toEqual([]);
    runs.occupy(WEB, -1);
    expect(typesOf(await first).at(-1)).toBe('turn-ended');
    expect(typesOf(await second).at(-1)).toBe('turn-ended');
  });

  it('is waited for again if another run takes it', async () => {
    const { run, runs } = setUp();
    runs.refusal = agentError('workspace_busy');
    expect(typesOf(await run({}, { isBackground: true })).at(-1)).toBe('turn-ended');
    runs.refusal = gatewayError('worker_unavailable');
    expect(await codeOf(run({}, { isBackground: true }))).toBe('worker_unavailable');
  });

  it('is not waited for without end, or by a request that was cancelled', async () => {
    const { run, runs, plan } = setUp(DONE, { maxWaitMs: 1 });
    runs.occupy(WEB, 1);
    expect(await codeOf(run({}, { isBackground: true }))).toBe('workspace_busy');
    const cancelled = new AbortController();
    const events = collect(plan({}, { isBackground: true }).run(cancelled.signal));
    cancelled.abort(new Error('cancelled'));
    await expect(events).rejects.toThrow('cancelled');
  });
});

describe('an approved call', () => {
  const items = [user, request(), approved()];

  it('is run first, and is not in the conversation', async () => {
    const { run, runs, declined } = setUp();
    await run({ items });
    expect(runs.started).toMatchObject([
      {
        approved: [
          {
            requestId: 'mcpr_call_1',
            call: { callId: 'call_1', name: 'exec_command', input: '{"cmd":"ls"}' },
          },
        ],
        request: { items: [user] },
      },
    ]);
    expect(declined).toEqual([]);
  });

  it('runs once, however often and at once it is approved', async () => {
    const { run, runs } = setUp();
    const codes = await Promise.all([1, 2, 3].map(() => codeOf(run({ items }))));
    expect(codes.toSorted()).toEqual(['approval_already_used', 'approval_already_used', 'no error']);
    expect(runs.started).toHaveLength(1);
    await expect(run({ items })).rejects.toMatchObject({ failure: { status: 400, path: { item: 2 } } });
  });

  it('is known by an id that no other conversation has', async () => {
    const random = 'call_Xa81bdefgh2jklmnopQ4stuv';
    const { run } = setUp(() => [
      ACCEPTED,
      ...waiting('web', { callId: 'call_0', name: 'exec_command', input: '{}' }),
      ...waiting('web', { callId: random, name: 'exec_command', input: '{}' }),
      ended(),
    ]);
    const events = await run();
    expect(checkGrammar(events)).toEqual([]);
    const ids = events.flatMap((event) => (event.type === 'item-ended' ? [event.item.id] : []));
    expect(ids.slice(1)).toEqual([expect.stringMatching(/^mcpr_minted/), `mcpr_${random}`]);
  });

  it('may have an id of any length', async () => {
    const { run } = setUp();
    const long = 'x'.repeat(10_000);
    const asked = { items: [user, request(long), approved(long)] };
    expect(await codeOf(run(asked))).toBe('no error');
    expect(await codeOf(run(asked))).toBe('approval_already_used');
  });

  it('can be approved again if no run has begun', async () => {
    const { run, runs } = setUp();
    runs.occupy(WEB, 1);
    expect(await codeOf(run({ items }))).toBe('workspace_busy');
    runs.occupy(WEB, -1);
    runs.refusal = gatewayError('worker_unavailable');
    expect(await codeOf(run({ items }))).toBe('worker_unavailable');
    const two = [user, request(), request('call_2'), approved('call_2'), approved()];
    expect(await codeOf(run({ items: two }))).toBe('no error');
    expect(runs.started).toHaveLength(1);
    // The second of these was used, so the first has not run.
    const third = [user, request('call_3'), approved('call_3')];
    expect(await codeOf(run({ items: [...third, request(), approved()] }))).toBe('approval_already_used');
    expect(await codeOf(run({ items: third }))).toBe('no error');
  });

  it('is used up if its run was ended while it started', async () => {
    const { run, runs } = setUp();
    runs.refusal = gatewayError('worker_lost');
    expect(await codeOf(run({ items }))).toBe('worker_lost');
    expect(await codeOf(run({ items }))).toBe('approval_already_used');
  });

  it('is not run again by a turn that is run again', async () => {
    const { plan, runs } = setUp();
    const planned = plan({ items });
    await collect(planned.run(new AbortController().signal));
    expect(await codeOf(collect(planned.run(new AbortController().signal)))).toBe('worker_lost');
    expect(runs.started).toHaveLength(1);
  });

  it('is counted when it is declined, once', async () => {
    const { run, declined } = setUp();
    const refused = approved('call_2', false);
    const later = [user, request(), request('call_2'), approved(), refused];
    await run({ items: later });
    expect(declined).toEqual(['web']);
    const spoken: Item = { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'Well.' }] };
    await run({ items: [user, request('call_2'), refused, spoken, user] });
    expect(declined).toEqual(['web']);
  });
});
