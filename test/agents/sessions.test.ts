import type OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';

import { gatewayError } from '../../src/canonical/failure/failure.ts';
import { agentError } from '../../src/features/agents/failures.ts';
import { startAgentServer, type AgentServer } from '../support/agent-server.ts';
import {
  followSession as follow,
  postInput as post,
  typesOf,
  userMessage as message,
} from '../support/session-events.ts';

/** The Agents API with the unmodified SDK of OpenAI. Runs of codex follow a script. */

const servers: AgentServer[] = [];
const start = async (...options: Parameters<typeof startAgentServer>): Promise<AgentServer> => {
  const server = await startAgentServer(...options);
  servers.push(server);
  return server;
};
afterAll(async () => {
  for (const server of servers.toReversed()) await server.close();
});

type Session = OpenAI.Beta.AgentSession;
type Event = OpenAI.Beta.AgentSessionEvent;

const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Weather of a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
} as const;

const DEMO = { type: 'self_hosted', workspace_directory: 'demo' } as const;

const create = (server: AgentServer, agent: object = {}): Promise<Session> =>
  server.openai.beta.agents.sessions.create({
    environment: DEMO,
    agent: { model: 'gpt-5.5', ...agent },
  } as OpenAI.Beta.Agents.SessionCreateParamsNonStreaming);

/** The events of one turn by the helper of the SDK. */
const turnOf = async (
  server: AgentServer,
  id: string,
  input: string,
  toolHandlers: Record<string, (given: Record<string, unknown>) => string> = {},
): Promise<Event[]> => {
  const events: Event[] = [];
  for await (const event of server.openai.beta.agents.sessions.stream(id, { input, toolHandlers })) {
    events.push(event);
  }
  return events;
};

describe('a session', () => {
  it('is created, read, listed and deleted', async () => {
    const server = await start();
    const session = await create(server, { tools: [WEATHER] });
    expect(session).toEqual({
      id: expect.stringMatching(/^asess_/),
      object: 'agent.session',
      status: 'idle',
      created_at: expect.any(Number),
      last_active_at: expect.any(Number),
      error: null,
      metadata: {},
      required_actions: [],
      review: 'none',
      usage: null,
      vault_ids: [],
      environment: {
        type: 'self_hosted',
        id: 'env_demo',
        workspace_directory: server.folder,
        capability_directories: [],
        remote_url: '',
      },
      agent: {
        id: expect.stringMatching(/^agent_/),
        name: null,
        instructions: null,
        model: 'gpt-5.5',
        multi_agent: { enabled: false, max_concurrent_subagents: null },
        reasoning: { effort: null, summary: null },
        service_tier: 'auto',
        text: { format: { type: 'text' }, verbosity: 'medium' },
        tools: [{ ...WEATHER, defer_loading: false }],
      },
    });
    const { sessions } = server.openai.beta.agents;
    expect(await sessions.retrieve(session.id)).toEqual(session);
    expect((await sessions.list()).data.map(({ id }) => id)).toEqual([session.id]);
    expect(await sessions.delete(session.id)).toEqual({
      id: session.id,
      object: 'agent.session.deleted',
      deleted: true,
    });
    await expect(sessions.retrieve(session.id)).rejects.toMatchObject({
      status: 404,
      code: 'unknown_session',
      message: `404 Session with id '${session.id}' not found.`,
    });
  });

  it('runs turns, whose events come in the order of the API', async () => {
    const server = await start({
      script: () => [
        { think: 'I look.' },
        { command: 'echo two', callId: 'call_1', live: ['tw'], output: 'two\n' },
        { say: 'It says two.', phase: 'final_answer' },
      ],
    });
    const { id } = await create(server);
    const events = await turnOf(server, id, 'Write two');
    expect(typesOf(events)).toEqual([
      'idle',
      'in_progress',
      'turn.created',
      'turn.in_progress',
      'turn.item.added',
      'turn.item.added',
      'turn.reasoning_summary_part.added',
      'turn.reasoning_summary_text.delta',
      'turn.reasoning_summary_text.done',
      'turn.reasoning_summary_part.done',
      'turn.item.done',
      'turn.item.added',
      'command_execution_output.delta',
      'turn.item.done',
      'turn.item.added',
      'turn.content_part.added',
      'turn.output_text.delta',
      'turn.output_text.done',
      'turn.content_part.done',
      'turn.item.done',
      'turn.completed',
      'idle',
    ]);
    expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(events.length);
    // The step counts as one request.
    const [turn] = (await server.openai.beta.agents.sessions.turns.list(id)).data;
    const steps = () => server.log.filter(({ msg }) => msg === 'step of an agent');
    await expect.poll(() => steps().length).toBe(1);
    expect(steps()).toMatchObject([
      {
        turnId: turn?.id,
        model: 'gpt-5.5',
        outcome: 'completed',
        inputTokens: 10,
        outputTokens: 5,
        errorCode: null,
      },
    ]);
    const items = await server.openai.beta.agents.sessions.items.list(id, { order: 'asc' });
    expect(items.data).toEqual([
      {
        id: expect.stringMatching(/^msg_/),
        type: 'message',
        role: 'user',
        turn_id: expect.stringMatching(/^turn_/),
        phase: null,
        status: 'completed',
        content: [{ type: 'input_text', text: 'Write two' }],
      },
      {
        id: 'rs_0',
        type: 'reasoning',
        turn_id: expect.any(String),
        status: 'completed',
        summary: [{ type: 'summary_text', text: 'I look.' }],
      },
      {
        id: 'call_1',
        type: 'command_execution',
        turn_id: expect.any(String),
        command: "/bin/bash -lc 'echo two'",
        cwd: server.folder,
        status: 'completed',
        output: 'two\n',
        exit_code: 0,
        duration_ms: 12,
      },
      {
        id: 'msg_2',
        type: 'message',
        role: 'assistant',
        turn_id: expect.any(String),
        phase: 'final_answer',
        status: 'completed',
        content: [{ type: 'output_text', text: 'It says two.' }],
      },
    ]);
  });
});

describe('the events of a turn', () => {
  it('have exactly the members of the API', async () => {
    const server = await start({
      script: () => [{ command: 'ls', callId: 'call_1', output: 'two\n' }, { say: 'Two.' }],
    });
    const { id, agent } = await create(server);
    const [, , , ...events] = await turnOf(server, id, 'Show it');
    const session_id = id;
    const turn_id = expect.stringMatching(/^turn_/) as string;
    const event_id = expect.stringMatching(/^evt_/) as string;
    const of = { event_id, session_id, turn_id };
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 1 },
      total_tokens: 15,
    };
    const turn = {
      id: turn_id,
      object: 'agent.session.turn',
      agent_id: agent.id,
      session_id,
      subagent_id: null,
      created_at: expect.any(Number) as number,
      started_at: expect.any(Number) as number,
      error: null,
    };
    const command = {
      id: 'call_1',
      type: 'command_execution',
      turn_id,
      command: "/bin/bash -lc 'ls'",
      cwd: server.folder,
    };
    const words = { item_id: 'msg_1', output_index: 1, content_index: 0 };
    const reply = { id: 'msg_1', type: 'message', role: 'assistant', turn_id, phase: null };
    expect(events).toEqual([
      {
        type: 'agent.session.turn.in_progress',
        ...of,
        turn: { ...turn, status: 'in_progress', completed_at: null, usage: null },
      },
      {
        type: 'agent.session.turn.item.added',
        ...of,
        output_index: null,
        item: {
          id: expect.stringMatching(/^msg_/) as string,
          type: 'message',
          role: 'user',
          turn_id,
          phase: null,
          status: 'completed',
          content: [{ type: 'input_text', text: 'Show it' }],
        },
      },
      {
        type: 'agent.session.turn.item.added',
        ...of,
        output_index: 0,
        item: { ...command, status: 'in_progress', output: null, exit_code: null, duration_ms: null },
      },
      {
        type: 'agent.output.command_execution_output.delta',
        ...of,
        item_id: 'call_1',
        output_index: 0,
        delta: 'two\n',
      },
      {
        type: 'agent.session.turn.item.done',
        ...of,
        output_index: 0,
        item: { ...command, status: 'completed', output: 'two\n', exit_code: 0, duration_ms: 12 },
      },
      {
        type: 'agent.session.turn.item.added',
        ...of,
        output_index: 1,
        item: { ...reply, status: 'in_progress', content: [] },
      },
      {
        type: 'agent.session.turn.content_part.added',
        ...of,
        ...words,
        part: { type: 'output_text', text: '' },
      },
      { type: 'agent.session.turn.output_text.delta', ...of, ...words, delta: 'Two.' },
      { type: 'agent.session.turn.output_text.done', ...of, ...words, text: 'Two.' },
      {
        type: 'agent.session.turn.content_part.done',
        ...of,
        ...words,
        part: { type: 'output_text', text: 'Two.' },
      },
      {
        type: 'agent.session.turn.item.done',
        ...of,
        output_index: 1,
        item: { ...reply, status: 'completed', content: [{ type: 'output_text', text: 'Two.' }] },
      },
      {
        type: 'agent.session.turn.completed',
        ...of,
        turn: { ...turn, status: 'completed', completed_at: expect.any(Number) as number, usage },
        usage,
      },
      {
        type: 'agent.session.idle',
        event_id,
        session: { ...(await server.openai.beta.agents.sessions.retrieve(id)) },
      },
    ]);
  });
});

describe('functions', () => {
  const ask = () =>
    start({
      script: ({ request }) =>
        request.items.some(({ kind }) => kind === 'tool-output')
          ? [{ say: 'It is sunny.' }]
          : [{ call: 'get_weather', callId: 'call_2', given: { city: 'Paris' } }],
    });

  it('are called by the helper of the SDK', async () => {
    const server = await ask();
    const { id } = await create(server, { tools: [WEATHER] });
    const asked: unknown[] = [];
    const events = await turnOf(server, id, 'Weather?', {
      get_weather(given) {
        asked.push(given);
        return 'sunny';
      },
    });
    expect(asked).toEqual([{ city: 'Paris' }]);
    expect(typesOf(events).slice(5)).toEqual([
      'turn.item.added',
      'requires_action',
      'turn.item.added',
      'in_progress',
      'turn.item.done',
      'turn.item.added',
      'turn.content_part.added',
      'turn.output_text.delta',
      'turn.output_text.done',
      'turn.content_part.done',
      'turn.item.done',
      'turn.completed',
      'idle',
    ]);
    expect(events[6]).toMatchObject({
      session: {
        status: 'requires_action',
        required_actions: [
          { type: 'function_call', call_id: 'call_2', name: 'get_weather', arguments: { city: 'Paris' } },
        ],
      },
    });
    expect(events[7]).toMatchObject({
      output_index: null,
      item: {
        type: 'function_call_output',
        call_id: 'call_2',
        output: 'sunny',
        error: null,
        status: 'completed',
      },
    });
    expect(events[9]).toMatchObject({
      output_index: 0,
      item: { type: 'function_call', status: 'completed' },
    });
    expect(events.at(-2)).toMatchObject({
      turn: { status: 'completed', usage: { input_tokens: 20, output_tokens: 10, total_tokens: 30 } },
    });
    // The second step gets the call with its output.
    expect(server.agents.requests[1]?.request.items.map(({ kind }) => kind)).toEqual([
      'message',
      'tool-call',
      'tool-output',
    ]);
  });

  it('have one result', async () => {
    const server = await ask();
    const { id } = await create(server, { tools: [WEATHER] });
    const { sessions } = server.openai.beta.agents;
    await post(server, id, [message('Weather?')]);
    await expect.poll(async () => (await sessions.retrieve(id)).status).toBe('requires_action');
    const [action] = (await sessions.retrieve(id)).required_actions;
    const turnId = action?.type === 'function_call' ? action.turn_id : '';
    const result = {
      type: 'agent.session.input.tool_result',
      turn_id: turnId,
      call_id: 'call_2',
      success: true,
      output: 'rain',
    };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => server.post(`/v1/agents/sessions/${id}/events`, { events: [result] })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      202,
      ...Array.from({ length: 7 }, () => 400),
    ]);
    const refused = answers.find(({ status }) => status === 400);
    expect(await refused?.json()).toEqual({
      error: {
        message: 'Unknown pending tool call: call_2',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request_error',
      },
    });
    await expect.poll(async () => (await sessions.retrieve(id)).status).toBe('idle');
    expect(server.agents.requests).toHaveLength(2);
  });

  it('that fail are reported to the model', async () => {
    const server = await ask();
    const { id } = await create(server, { tools: [WEATHER] });
    await turnOf(server, id, 'Weather?', {
      get_weather() {
        throw new Error('secret');
      },
    });
    expect(server.agents.requests[1]?.request.items.at(-1)).toMatchObject({
      kind: 'tool-output',
      output: 'Tool handler failed.',
    });
  });

  it('are not answered in time', async () => {
    const server = await start({
      limits: { actionTimeoutMs: 1_000 },
      script: () => [{ call: 'get_weather', callId: 'c', given: {} }],
    });
    const { id } = await create(server, { tools: [WEATHER] });
    const { sessions } = server.openai.beta.agents;
    await post(server, id, [message('Weather?')]);
    await expect.poll(async () => (await sessions.turns.list(id)).data[0]?.status).toBe('failed');
    expect((await sessions.turns.list(id)).data[0]?.error?.code).toBe('request_timeout');
    expect((await sessions.retrieve(id)).status).toBe('idle');
    expect((await sessions.items.list(id)).data[0]).toMatchObject({
      type: 'function_call',
      status: 'incomplete',
    });
  });
});

describe('approvals', () => {
  const APPROVAL = { type: 'function', name: 'codex_approval', description: 'Asks', parameters: {} } as const;

  it('run the call in the next step', async () => {
    const server = await start({
      script: (_, run) =>
        run % 2 === 0 ? [{ say: 'Done.' }] : [{ command: 'npm install', callId: `call_${8 + run}` }],
    });
    const { id } = await create(server, { tools: [APPROVAL] });
    const asked: unknown[] = [];
    const events = await turnOf(server, id, 'Install', {
      codex_approval(given) {
        asked.push(given);
        return 'approve';
      },
    });
    expect(asked).toEqual([{ name: 'exec_command', arguments: { cmd: 'npm install' }, cwd: server.folder }]);
    expect(events.filter(({ type }) => type === 'agent.session.turn.item.done')).toMatchObject([
      { item: { type: 'function_call', name: 'codex_approval', call_id: 'call_9', status: 'completed' } },
      { item: { type: 'command_execution', id: 'call_9', output: 'approved\n', status: 'completed' } },
      { item: { type: 'message' } },
    ]);
    const shown = await server.openai.beta.agents.sessions.items.list(id, { order: 'asc' });
    expect(shown.data.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'command_execution',
      'message',
    ]);
    const [first, second] = server.agents.requests;
    expect(first?.request.tools).toEqual([]);
    expect(second?.approved).toMatchObject([{ requestId: 'mcpr_call_9', call: { callId: 'call_9' } }]);
    expect(second?.request.items.map(({ kind }) => kind)).toEqual(['message']);
    // The next turn gets the call once.
    await turnOf(server, id, 'And now?', { codex_approval: () => '{"approve":false,"reason":"no"}' });
    expect(server.agents.requests[2]?.request.items.map(({ kind }) => kind)).toEqual([
      'message',
      'tool-call',
      'tool-output',
      'message',
      'message',
    ]);
    expect(server.agents.requests[3]?.request.items.at(-1)).toMatchObject({
      output: 'This call was declined: no',
    });
    expect(server.agents.requests[3]?.approved).toEqual([]);
  });
});

describe('steering and cancelling', () => {
  it('adds messages to a running turn', async () => {
    const server = await start({ script: () => [{ steer: true }, { say: 'Heard.' }] });
    const { id } = await create(server);
    const { sessions } = server.openai.beta.agents;
    await post(server, id, [message('Begin')]);
    await expect.poll(() => server.agents.requests.length).toBe(1);
    await post(server, id, [message('More')]);
    await expect.poll(async () => (await sessions.retrieve(id)).status).toBe('idle');
    const items = (await sessions.items.list(id, { order: 'asc' })).data;
    expect(items.map((item) => ('content' in item ? item.content : null))).toMatchObject([
      [{ text: 'Begin' }],
      [{ text: 'More' }],
      [{ text: 'Heard.' }],
    ]);
    expect((await sessions.turns.list(id)).data).toHaveLength(1);
  });

  it('begins a turn with messages that came too late', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      script: (_, run) => (run === 1 ? [{ wait: gate.promise }, { say: 'One.' }] : [{ say: 'Two.' }]),
    });
    server.agents.takesSteering = false;
    const { id } = await create(server);
    const { sessions } = server.openai.beta.agents;
    await post(server, id, [message('Begin')]);
    await expect.poll(() => server.agents.requests.length).toBe(1);
    await post(server, id, [message('More')]);
    gate.resolve();
    await expect.poll(async () => (await sessions.retrieve(id)).status).toBe('idle');
    const items = (await sessions.items.list(id, { order: 'asc' })).data;
    expect(items.map((item) => ('content' in item ? item.content : null))).toMatchObject([
      [{ text: 'Begin' }],
      [{ text: 'One.' }],
      [{ text: 'More' }],
      [{ text: 'Two.' }],
    ]);
    expect((await sessions.turns.list(id)).data).toHaveLength(2);
  });

  it('cancels a running turn', async () => {
    const server = await start({
      script: () => [{ command: 'sleep 60', callId: 'call_3', until: new Promise(() => {}) }],
    });
    const { id } = await create(server);
    const events = follow(server, id);
    await events.until('agent.session.idle');
    await post(server, id, [message('Sleep')]);
    await expect.poll(() => server.agents.commands.size).toBe(1);
    expect((await post(server, id, [{ type: 'agent.session.input.cancel' }])).status).toBe(202);
    await events.until('agent.session.turn.cancelled');
    await events.until('agent.session.idle');
    expect(typesOf(events.all).slice(5)).toEqual([
      'turn.item.added',
      'turn.item.done',
      'turn.cancelled',
      'idle',
    ]);
    expect(events.all[6]).toMatchObject({
      item: { id: 'call_3', status: 'failed', output: '', exit_code: -1, duration_ms: 12 },
    });
    expect(server.agents.running).toBe(0);
    // A cancellation of an idle session does nothing.
    expect((await post(server, id, [{ type: 'agent.session.input.cancel' }])).status).toBe(202);
    events.stop();
  });

  it('cancels a turn whose run is starting', async () => {
    const server = await start({ script: () => [{ say: 'Never.' }] });
    server.agents.begins = new Promise(() => {});
    const { id } = await create(server);
    const { sessions } = server.openai.beta.agents;
    await post(server, id, [message('Begin')]);
    await expect.poll(() => server.agents.requests.length).toBe(1);
    await post(server, id, [{ type: 'agent.session.input.cancel' }, message('Again')]);
    server.agents.begins = Promise.resolve();
    const statuses = async () =>
      (await sessions.turns.list(id, { order: 'asc' })).data.map(({ status }) => status);
    await expect.poll(statuses).toEqual(['cancelled', 'completed']);
    expect(server.agents.mostRunning).toBe(1);
  });

  it('fails a turn whose run cannot start, and goes on when its workspace is free', async () => {
    const server = await start();
    const { id } = await create(server);
    const { sessions } = server.openai.beta.agents;
    const broken = agentError('workspace_busy');
    let tries = 0;
    server.agents.refuse = () => {
      tries += 1;
      return tries < 3 ? broken : null;
    };
    await post(server, id, [message('Begin')]);
    await expect.poll(async () => (await sessions.turns.list(id)).data[0]?.status).toBe('completed');
    expect(tries).toBe(3);
    server.agents.refuse = () => gatewayError('mcp_server_unavailable', { message: 'The folder is gone.' });
    await post(server, id, [message('Again')]);
    await expect
      .poll(async () => (await sessions.turns.list(id)).data[0]?.error)
      .toEqual({
        code: 'sandbox_error',
        message: 'The folder is gone.',
      });
    expect(
      (await sessions.items.list(id, { order: 'asc' })).data.map((item) =>
        'role' in item ? item.role : null,
      ),
    ).toEqual(['user', 'assistant', 'user']);
  });

  it('cancels a turn that waits for its place, and one that waits for its client', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await start({
      script: (_, run) =>
        run === 1
          ? [{ wait: gate.promise }, { say: 'One.' }]
          : [{ call: 'get_weather', callId: 'c', given: {} }],
    });
    const [one, two] = [await create(server), await create(server, { tools: [WEATHER] })];
    const { sessions } = server.openai.beta.agents;
    await post(server, one.id, [message('a')]);
    await expect.poll(() => server.agents.requests.length).toBe(1);
    await post(server, two.id, [message('b')]);
    expect((await sessions.turns.list(two.id)).data[0]?.status).toBe('queued');
    expect((await sessions.retrieve(two.id)).status).toBe('in_progress');
    await post(server, two.id, [{ type: 'agent.session.input.cancel' }]);
    expect((await sessions.turns.list(two.id)).data[0]).toMatchObject({
      status: 'cancelled',
      started_at: null,
    });
    await post(server, two.id, [message('c')]);
    gate.resolve();
    await expect.poll(async () => (await sessions.retrieve(two.id)).status).toBe('requires_action');
    await post(server, two.id, [{ type: 'agent.session.input.cancel' }, message('d')]);
    const statuses = async () =>
      (await sessions.turns.list(two.id, { order: 'asc' })).data.map(({ status }) => status);
    await expect.poll(statuses).toEqual(['cancelled', 'cancelled', 'waiting']);
    expect(server.agents.mostRunning).toBe(1);
  });
});
