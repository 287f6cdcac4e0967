import type OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';

import { startAgentServer, type AgentServer } from '../support/agent-server.ts';

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

const typesOf = (events: readonly Event[]): readonly string[] =>
  events.map(({ type }) => type.replace('agent.session.', '').replace('agent.output.', ''));

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
