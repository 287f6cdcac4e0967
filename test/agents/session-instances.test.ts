import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, describe, expect, it } from 'vitest';

import { startAgentServer, type AgentServer, type AgentServerOptions } from '../support/agent-server.ts';
import { sharedPostgres } from '../support/postgres.ts';
import { followSession, postInput, typesOf, userMessage } from '../support/session-events.ts';

/** Sessions outlive connections and servers. */

const servers: AgentServer[] = [];
const start = async (options: AgentServerOptions = {}): Promise<AgentServer> => {
  const server = await startAgentServer(options);
  servers.push(server);
  return server;
};
afterAll(async () => {
  for (const server of servers.toReversed()) await server.close();
});

const WEATHER = { type: 'function', name: 'get_weather', description: 'Weather', parameters: {} };

const create = async (server: AgentServer, body: object = {}, agent: object = {}): Promise<string> => {
  const answer = await server.post('/v1/agents/sessions', {
    environment: { type: 'self_hosted', workspace_directory: 'demo' },
    agent: { model: 'gpt-5.5', ...agent },
    ...body,
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { readonly id: string }).id;
};

const sessionOf = (server: AgentServer, id: string) => server.openai.beta.agents.sessions.retrieve(id);
const turnsOf = async (server: AgentServer, id: string) =>
  (await server.openai.beta.agents.sessions.turns.list(id, { order: 'asc' })).data;

const NEVER = new Promise<never>(() => {});

describe('a stream of events', () => {
  it('of a session that is created ends after its first turn', async () => {
    const server = await start({ script: () => [{ say: 'Hello.' }] });
    const stream = await server.openai.beta.agents.sessions.create({
      environment: { type: 'self_hosted', workspace_directory: server.folder },
      agent: { model: 'gpt-5.5' },
      input: 'Hi',
      stream: true,
    });
    const result = await stream.finalResult();
    expect(result.output_text).toBe('Hello.');
    const answer = await server.post('/v1/agents/sessions', {
      environment: { type: 'none' },
      agent: { model: 'gpt-5.5' },
      input: 'Hi',
      stream: true,
    });
    const text = await answer.text();
    expect(text.match(/^event: .*$/gm)?.at(0)).toBe('event: agent.session.created');
    expect(text.match(/^event: .*$/gm)?.at(-1)).toBe('event: agent.session.idle');
    expect(server.agents.requests.at(-1)?.workspace).toBe(null);
  });

  it('of a session that is created without input ends after its first turn, too', async () => {
    const server = await start({ script: () => [{ say: 'Hello.' }] });
    const answer = await server.post('/v1/agents/sessions', {
      environment: { type: 'self_hosted', workspace_directory: 'demo' },
      agent: { model: 'gpt-5.5' },
      stream: true,
    });
    const [{ id } = { id: '' }] = (await server.openai.beta.agents.sessions.list()).data;
    await postInput(server, id, [userMessage('Hi')]);
    const types = (await answer.text()).match(/^event: .*$/gm) ?? [];
    expect([types.at(0), types.at(-2), types.at(-1)]).toEqual([
      'event: agent.session.created',
      'event: agent.session.turn.completed',
      'event: agent.session.idle',
    ]);
  });

  it('goes on after the last event that its reader knows', async () => {
    const server = await start({
      script: () => [{ command: 'ls', callId: 'c', output: 'a\n' }, { say: 'Hello.' }],
    });
    const id = await create(server);
    const whole = followSession(server, id);
    await whole.until('agent.session.idle');
    await postInput(server, id, [userMessage('Hi')]);
    await whole.until('agent.session.idle');
    for (const at of [0, 3, whole.all.length - 2]) {
      const known = whole.all[at]!.event_id;
      const rest = followSession(server, id, { 'last-event-id': known });
      await rest.until('agent.session.idle');
      expect(rest.all).toEqual(whole.all.slice(at + 1));
      rest.stop();
    }
    for (const after of ['evt_1', 'evt_unknown_4', `${whole.all.at(-1)!.event_id}000`]) {
      const refused = await server.send(`/v1/agents/sessions/${id}/events?after=${after}`);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: { code: 'not_streamable' } });
    }
    whole.stop();
  });

  it('ends when the session is deleted', async () => {
    const server = await start();
    const id = await create(server);
    const events = followSession(server, id);
    await events.until('agent.session.idle');
    await server.openai.beta.agents.sessions.delete(id);
    expect(await events.ended).toBe('ended');
  });

  it('is complete for two readers of a long turn', async () => {
    const lines = Array.from({ length: 300 }, (_, index) => `line ${index}\n`);
    const server = await start({
      script: () => [
        { command: 'seq', callId: 'c', live: lines, output: `${lines.join('')}end\n` },
        { say: 'x'.repeat(5_000) },
      ],
    });
    const id = await create(server);
    const readers = [followSession(server, id), followSession(server, id)];
    for (const reader of readers) await reader.until('agent.session.idle');
    await postInput(server, id, [userMessage('Count')]);
    for (const reader of readers) await reader.until('agent.session.idle');
    const [one, two] = readers;
    expect(one!.all).toEqual(two!.all);
    const said = (type: string) =>
      one!.all.map((event) => (event.type === type && 'delta' in event ? event.delta : '')).join('');
    expect(said('agent.output.command_execution_output.delta')).toBe(`${lines.join('')}end\n`);
    expect(said('agent.session.turn.output_text.delta')).toBe('x'.repeat(5_000));
    for (const reader of readers) reader.stop();
  });
});

describe('the history of a session', () => {
  it('is what the model wrote and heard', async () => {
    const server = await start({
      script: (_, run) =>
        run === 1
          ? [
              { think: 'First.' },
              { command: 'ls', callId: 'call_1', output: 'a.txt\n' },
              { patch: '*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch', callId: 'call_2' },
              {
                patch: '*** Begin Patch\n*** Update File: /etc/passwd\n@@\n-x\n+y\n*** End Patch',
                callId: 'call_3',
                refused: 'patch rejected: outside of the workspace',
              },
              { plan: 'Finish', callId: 'call_4' },
              { search: 'codex', id: 'ws_1' },
              { say: 'I work.', phase: 'commentary' },
              { say: 'Done.', phase: 'final_answer' },
            ]
          : [{ say: 'Again.' }],
    });
    const id = await create(server);
    const { sessions } = server.openai.beta.agents;
    const result = await sessions.stream(id, { input: 'Work' }).finalResult();
    expect(result.output_text).toBe('Done.');
    await sessions.stream(id, { input: 'More' }).finalResult();
    const second = server.agents.requests[1]!.request.items;
    expect(second.map((item) => (item.kind === 'message' ? item.role : item.kind))).toEqual([
      'user',
      'reasoning',
      'tool-call',
      'tool-output',
      'tool-call',
      'tool-output',
      'tool-call',
      'tool-output',
      'tool-call',
      'tool-output',
      'hosted-call',
      'assistant',
      'assistant',
      'user',
    ]);
    expect(second[1]).toMatchObject({ encryptedContent: 'sealed' });
    expect(second[2]).toMatchObject({
      tool: 'function',
      name: 'exec_command',
      callId: 'call_1',
      input: '{"cmd":"ls"}',
    });
    expect(second[3]).toMatchObject({ callId: 'call_1', output: 'Output:\na.txt\n' });
    expect(second[4]).toMatchObject({
      tool: 'custom',
      name: 'apply_patch',
      input: expect.stringMatching(/^\*\*\* Begin/),
    });
    const items = (await sessions.items.list(id, { order: 'asc' })).data;
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'command_execution',
      'mcp_call',
      'mcp_call',
      'web_search_call',
      'message',
      'message',
      'message',
      'message',
    ]);
    expect(items.slice(3, 6)).toMatchObject([
      {
        server_label: 'codex',
        name: 'apply_patch',
        status: 'completed',
        arguments: { changes: [{ path: 'a.txt', kind: 'add', move_path: null, diff: 'hello\n' }] },
        output: null,
        error: null,
      },
      {
        status: 'failed',
        arguments: { changes: [{ path: '/etc/passwd', kind: 'update' }] },
        error: 'patch rejected: outside of the workspace',
      },
      { action: { type: 'search', query: 'codex' }, status: 'completed' },
    ]);
  });

  it('goes on with the changed agent of the session', async () => {
    const server = await start();
    const id = await create(
      server,
      {},
      { instructions: 'Be kind.', text: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    );
    const { sessions } = server.openai.beta.agents;
    await sessions.stream(id, { input: 'a' }).finalResult();
    await sessions.update(id, {
      agent: {
        model: 'gpt-5.4-mini',
        reasoning: { effort: 'high' },
        tools: [WEATHER as never, { type: 'web_search', mode: 'cached' }],
      },
    });
    await sessions.stream(id, { input: 'b' }).finalResult();
    const [first, second] = server.agents.requests.map(({ request }) => request);
    expect(first).toMatchObject({
      model: 'gpt-5.5',
      instructions: 'Be kind.',
      format: { kind: 'json-schema' },
      tools: [],
    });
    expect(second).toMatchObject({
      model: 'gpt-5.4-mini',
      reasoning: { effort: 'high' },
      tools: [
        { kind: 'function', name: 'get_weather' },
        { kind: 'hosted', raw: { type: 'web_search', external_web_access: false } },
      ],
    });
  });
});

describe('a turn ends', () => {
  it('by its time limit', async () => {
    const server = await start({
      limits: { turnTimeoutMs: 1_000 },
      script: () => [{ command: 'sleep', callId: 'c', until: NEVER }],
    });
    const id = await create(server, { input: 'a' });
    await expect.poll(async () => (await turnsOf(server, id))[0]?.status).toBe('failed');
    expect((await turnsOf(server, id))[0]?.error?.code).toBe('request_timeout');
    expect(server.agents.running).toBe(0);
    expect((await sessionOf(server, id)).status).toBe('idle');
  });

  it('with what failed', async () => {
    const server = await start({
      script: () => [{ say: 'Half' }, { ends: { kind: 'incomplete', reason: 'max_output_tokens' } }],
    });
    const id = await create(server, { input: 'a' });
    await expect.poll(async () => (await turnsOf(server, id))[0]?.error?.code).toBe('max_output_tokens');
    expect(await sessionOf(server, id)).toMatchObject({ status: 'idle', usage: { total_tokens: 15 } });
  });

  it('when the server stops, and the session goes on with the next one', async () => {
    const server = await start({ script: () => [{ command: 'sleep', callId: 'c', until: NEVER }] });
    const id = await create(server);
    const events = followSession(server, id);
    await postInput(server, id, [userMessage('a')]);
    await expect.poll(() => server.agents.commands.size).toBe(1);
    const waiting = await create(server, { input: 'queued' });
    await server.stop(2_000);
    await events.ended;
    expect(typesOf(events.all).slice(-3)).toEqual(['turn.item.done', 'turn.failed', 'idle']);
    const next = await start({ nextTo: server, script: () => [{ say: 'Again.' }] });
    expect((await turnsOf(next, id))[0]).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'The server stopped while this turn was running.' },
    });
    // What had not begun begins now.
    await expect.poll(async () => (await turnsOf(next, waiting))[0]?.status).toBe('completed');
    await next.openai.beta.agents.sessions.stream(id, { input: 'b' }).finalResult();
    expect(next.agents.requests.at(-1)?.request.items.map(({ kind }) => kind)).toEqual([
      'message',
      'tool-call',
      'tool-output',
      'message',
    ]);
  });
});

describe('a workspace that is not configured any more', () => {
  it('ends its sessions', async () => {
    const server = await start();
    const id = await create(server);
    const gate = Promise.withResolvers<void>();
    server.agents.script = () => [{ wait: gate.promise }];
    const first = await create(server, { input: 'a' });
    await expect.poll(() => server.agents.requests.length).toBe(1);
    const queued = await create(server, { input: 'b' });
    await server.stop(200);
    const next = await start({ nextTo: server, isWithoutDemo: true });
    await expect.poll(async () => (await sessionOf(next, queued)).status).toBe('failed');
    expect((await turnsOf(next, queued))[0]?.error?.code).toBe('invalid_request');
    const refused = await postInput(next, id, [userMessage('Hi')]);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { code: 'unknown_workspace' } },
    ]);
    expect(await sessionOf(next, id)).toMatchObject({
      status: 'failed',
      error: "The workspace 'demo' of this session is not configured any more.",
    });
    expect((await next.send(`/v1/agents/sessions/${first}`, { method: 'DELETE' })).status).toBe(200);
  });
});

describe.each(['sqlite', 'postgres'] as const)('another instance with %s', (database) => {
  const envOf = async (): Promise<Record<string, string>> =>
    database === 'sqlite' ? {} : { PROXY_DATABASE_URL: await (await sharedPostgres()).createDatabase() };

  it('serves the same session: input, events, results, cancellation', async () => {
    const env = await envOf();
    const one = await start({
      env,
      script: ({ request }) =>
        request.items.some(({ kind }) => kind === 'tool-output')
          ? [{ steer: true }, { command: 'sleep', callId: 'c', until: NEVER }]
          : [{ call: 'get_weather', callId: 'w', given: {} }],
    });
    const two = await start({ nextTo: one, env, script: () => [{ say: 'never' }] });
    two.agents.free = () => 0;
    const id = await create(one, {}, { tools: [WEATHER] });
    const events = followSession(two, id);
    await events.until('agent.session.idle');
    await postInput(two, id, [userMessage('Weather?')]);
    const asked = await events.until('agent.session.requires_action');
    const [action] = 'session' in asked ? asked.session.required_actions : [];
    const turnId = action?.type === 'function_call' ? action.turn_id : '';
    const result = {
      type: 'agent.session.input.tool_result',
      turn_id: turnId,
      call_id: 'w',
      success: true,
      output: 'sun',
    };
    const answers = await Promise.all([one, two, one, two].map((server) => postInput(server, id, [result])));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 400, 400, 400]);
    await expect.poll(() => one.agents.requests.length).toBe(2);
    await postInput(two, id, [userMessage('Hurry')]);
    await expect.poll(() => one.agents.commands.size).toBe(1);
    await postInput(two, id, [{ type: 'agent.session.input.cancel' }]);
    await events.until('agent.session.turn.cancelled');
    await events.until('agent.session.idle');
    expect(one.agents.steered).toHaveLength(1);
    expect(two.agents.requests).toHaveLength(0);
    expect(one.agents.running).toBe(0);
    events.stop();
  });

  it('never runs in a workspace while this one does', async () => {
    const gates = Array.from({ length: 6 }, () => Promise.withResolvers<void>());
    let running = 0;
    let most = 0;
    let begun = 0;
    const script: AgentServerOptions['script'] = () => {
      running += 1;
      most = Math.max(most, running);
      const gate = gates[begun];
      begun += 1;
      setTimeout(() => gate?.resolve(), 30);
      return [{ wait: gate!.promise.then(() => (running -= 1)) }, { say: 'ok' }];
    };
    const env = await envOf();
    const one = await start({ script, env });
    const two = await start({ nextTo: one, script, env });
    const ids = await Promise.all(
      gates.map((_, index) => create(index % 2 === 0 ? one : two, { input: 'a' })),
    );
    for (const id of ids)
      await expect.poll(async () => (await turnsOf(one, id))[0]?.status).toBe('completed');
    expect(most).toBe(1);
    expect(begun).toBe(6);
  });
});

describe('a server that is gone', () => {
  it('leaves turns that others end', async () => {
    const one = await start({
      leaseEveryMs: 50,
      script: () => [{ command: 'sleep', callId: 'c', until: NEVER }],
    });
    const two = await start({ nextTo: one, leaseEveryMs: 50 });
    const id = await create(one, { input: 'a' });
    await expect
      .poll(() => one.agents.commands.size + two.agents.commands.size + two.agents.requests.length)
      .toBeGreaterThan(0);
    const whole = followSession(two, id);
    const database = new DatabaseSync(path.join(one.root, 'state', 'state.db'), { timeout: 10_000 });
    await expect
      .poll(async () => (await itemsOf(two, id)).some(({ type }) => type === 'command_execution'))
      .toBe(true);
    // As if its process had been killed: nothing renews the lease.
    database.exec(`update agent_sessions set lease_by = 'inst_dead' where id = '${id}'`);
    database.close();
    await whole.until('agent.session.turn.failed');
    await whole.until('agent.session.idle');
    expect(typesOf(whole.all).slice(-3)).toEqual(['turn.item.done', 'turn.failed', 'idle']);
    expect(whole.all.at(-3)).toMatchObject({
      item: { type: 'command_execution', status: 'incomplete' },
      output_index: 0,
    });
    expect((await turnsOf(two, id))[0]).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: 'The server stopped while this turn was running.' },
    });
    // The one that was taken for dead has stopped, too.
    await expect.poll(() => one.agents.running).toBe(0);
    whole.stop();
  });

  it('leaves turns that wait for their client', async () => {
    const one = await start({ script: () => [{ call: 'get_weather', callId: 'w', given: {} }] });
    const id = await create(one, { input: 'a' }, { tools: [WEATHER] });
    await expect.poll(async () => (await sessionOf(one, id)).status).toBe('requires_action');
    await one.stop();
    const two = await start({ nextTo: one, script: () => [{ say: 'Sunny.' }] });
    const session = await sessionOf(two, id);
    const [action] = session.required_actions;
    const turnId = action?.type === 'function_call' ? action.turn_id : '';
    await postInput(two, id, [
      {
        type: 'agent.session.input.tool_result',
        turn_id: turnId,
        call_id: 'w',
        success: true,
        output: 'sun',
      },
    ]);
    await expect.poll(async () => (await turnsOf(two, id))[0]?.status).toBe('completed');
    expect(two.agents.requests).toHaveLength(1);
  });
});

const itemsOf = async (server: AgentServer, id: string) =>
  (await server.openai.beta.agents.sessions.items.list(id)).data;
