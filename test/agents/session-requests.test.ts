import { afterAll, describe, expect, it } from 'vitest';

import { startAgentServer, type AgentServer } from '../support/agent-server.ts';

/** What clients of the Agents API send and list: checks, pages, keys, and what is switched off. */

const server = await startAgentServer({
  limits: { maxSessions: 60, maxQueuedTurns: 1, maxTurns: 1 },
  script: ({ request }) =>
    JSON.stringify(request.items).includes('block') ? [{ wait: new Promise(() => {}) }] : [{ say: 'ok' }],
});
const off = await startAgentServer({ isOff: true });
const storeless = await startAgentServer({ env: { PROXY_STORE: 'off' } });
afterAll(async () => {
  for (const one of [server, off, storeless]) await one.close();
});

const AGENT = { model: 'gpt-5.5' };
const DEMO = { type: 'self_hosted', workspace_directory: 'demo' };
const NONE = { type: 'none' };

interface Failed {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

const failureOf = async (answer: Response) => {
  const { error } = (await answer.json()) as Failed;
  return [answer.status, error.code, error.param];
};

const create = async (body: object = {}, key?: string): Promise<{ readonly id: string }> => {
  const answer = await server.post(
    '/v1/agents/sessions',
    { environment: DEMO, agent: AGENT, ...body },
    {},
    key,
  );
  expect(answer.status).toBe(200);
  return (await answer.json()) as { readonly id: string };
};

const message = (text: string) => ({
  type: 'agent.session.input.message',
  input: [{ role: 'user', content: [{ type: 'input_text', text }] }],
});

const list = async (
  at: string,
): Promise<{ readonly data: readonly { readonly id: string }[]; readonly has_more: boolean }> =>
  (await (await server.send(at)).json()) as never;

const idle = async (id: string): Promise<void> => {
  const { sessions } = server.openai.beta.agents;
  await expect.poll(async () => (await sessions.retrieve(id)).status).toBe('idle');
};

describe('a session is refused', () => {
  const TOOL = { type: 'function', name: 'f', description: '', parameters: {} };
  it.each([
    ['without an environment', { environment: undefined }, 400, 'missing_required_parameter', 'environment'],
    ['with another environment', { environment: { type: 'x' } }, 400, 'invalid_value', 'environment.type'],
    [
      'in a container',
      { environment: { type: 'openai_hosted' } },
      400,
      'unsupported_value',
      'environment.type',
    ],
    [
      'in a folder of a workspace',
      { environment: { ...DEMO, workspace_directory: 'demo/src' } },
      400,
      'unknown_workspace',
      'environment.workspace_directory',
    ],
    [
      'in an unknown workspace',
      { environment: { ...DEMO, workspace_directory: 'other' } },
      400,
      'unknown_workspace',
      'environment.workspace_directory',
    ],
    [
      'with capabilities',
      { environment: { ...DEMO, capability_directories: ['a'] } },
      400,
      'unsupported_parameter',
      'environment.capability_directories',
    ],
    ['without an agent', { agent: undefined }, 400, 'missing_required_parameter', 'agent.model'],
    ['with an unknown model', { agent: { model: 'nothing' } }, 404, 'model_not_found', 'agent.model'],
    ['with an unknown agent', { agent: undefined, agent_id: 'agent_x' }, 404, 'unknown_agent', null],
    ['without a workspace and input', { environment: NONE }, 400, 'missing_required_parameter', 'input'],
    ['with an empty input', { input: '' }, 400, 'invalid_value', 'input'],
    ['with no messages', { input: [] }, 400, 'invalid_value', 'input'],
    [
      'with a message of the assistant',
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }] },
      400,
      'invalid_value',
      'input[0].role',
    ],
    [
      'with another part',
      { input: [{ role: 'user', content: [{ type: 'input_file' }] }] },
      400,
      'invalid_value',
      'input[0].content[0].type',
    ],
    ['with an unknown review', { review: 'x' }, 400, 'invalid_value', 'review'],
    ['with a review', { review: 'auto_review' }, 400, 'unsupported_value', 'review'],
    ['with vaults', { vault_ids: ['v'] }, 400, 'unsupported_parameter', 'vault_ids'],
    ['with a limit on costs', { spend_control: { limit: 1 } }, 400, 'unsupported_parameter', 'spend_control'],
    [
      'with subagents',
      { agent: { ...AGENT, multi_agent: { enabled: true } } },
      400,
      'unsupported_value',
      'agent.multi_agent.enabled',
    ],
    [
      'with MCP',
      { agent: { ...AGENT, tools: [TOOL, { type: 'mcp' }] } },
      400,
      'unsupported_tool',
      'agent.tools[1].type',
    ],
    [
      'with asynchronous functions',
      { agent: { ...AGENT, tools: [{ ...TOOL, async: true }] } },
      400,
      'unsupported_value',
      'agent.tools[0].async',
    ],
    [
      'with two functions of one name',
      { agent: { ...AGENT, tools: [TOOL, TOOL] } },
      400,
      'invalid_value',
      'agent.tools[1].name',
    ],
    [
      'with too many functions',
      {
        agent: {
          ...AGENT,
          tools: Array.from({ length: 129 }, (_, index) => ({ ...TOOL, name: `f${index}` })),
        },
      },
      400,
      'array_above_max_length',
      'agent.tools',
    ],
    [
      'with the name of a tool of codex',
      { agent: { ...AGENT, tools: [{ ...TOOL, name: 'apply_patch' }] } },
      400,
      'invalid_value',
      'agent.tools[0].name',
    ],
    [
      'with approvals of nothing',
      { environment: NONE, input: 'a', agent: { ...AGENT, tools: [{ ...TOOL, name: 'codex_approval' }] } },
      400,
      'unsupported_value',
      'agent.tools',
    ],
    [
      'with too much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, ''])) },
      400,
      'invalid_value',
      'metadata',
    ],
  ])('%s', async (_, body, status, code, param) => {
    const answer = await server.post('/v1/agents/sessions', { environment: DEMO, agent: AGENT, ...body });
    expect(await failureOf(answer)).toEqual([status, code, param]);
  });

  it('and names what has no effect otherwise', async () => {
    const answer = await server.post('/v1/agents/sessions', {
      environment: DEMO,
      agent: { ...AGENT, compaction: {}, experimental: { time_awareness: true } },
      more: 1,
    });
    expect(answer.headers.get('x-proxy-ignored-params')).toBe('more, agent.compaction, agent.experimental');
  });
});

describe('input', () => {
  it.each([
    ['no events', {}, 'missing_required_parameter', 'events'],
    ['an empty list', { events: [] }, 'missing_required_parameter', 'events'],
    ['an unknown type', { events: [message('a'), { type: 'x' }] }, 'invalid_value', 'events[1].type'],
    [
      'an answer to computer use',
      { events: [{ type: 'agent.session.input.computer_use_approval_request_result' }] },
      'unsupported_value',
      'events[0].type',
    ],
    [
      'a result without a call',
      {
        events: [
          message('a'),
          { type: 'agent.session.input.tool_result', turn_id: 't', call_id: 'c', success: true },
        ],
      },
      'invalid_request_error',
      null,
    ],
  ])('is refused as a whole with %s', async (_, body, code, param) => {
    const { id } = await create();
    const answer = await server.post(`/v1/agents/sessions/${id}/events`, body);
    expect(await failureOf(answer)).toEqual([400, code, param]);
    expect((await list(`/v1/agents/sessions/${id}/turns`)).data).toEqual([]);
  });

  it('is applied once with an idempotency key', async () => {
    const { id } = await create();
    const send = (text: string, key: string) =>
      server.post(
        `/v1/agents/sessions/${id}/events`,
        { events: [message(text)] },
        { 'idempotency-key': key },
      );
    const first = await send('a', 'k1');
    expect([first.status, await first.text()]).toEqual([202, '']);
    expect((await send('a', 'k1')).status).toBe(202);
    const other = await send('b', 'k1');
    expect([...(await failureOf(other)), other.headers.get('x-should-retry')]).toEqual([
      409,
      'idempotency_key_reused',
      null,
      'false',
    ]);
    const together = await Promise.all(Array.from({ length: 6 }, () => send('c', 'k2')));
    expect(together.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 202));
    await idle(id);
    const items = (await server.openai.beta.agents.sessions.items.list(id)).data;
    expect(items.filter((item) => item.type === 'message' && item.role === 'user')).toHaveLength(2);
  });

  it('does not use its key up if it is refused', async () => {
    const { id } = await create();
    const headers = { 'idempotency-key': 'k' };
    const result = { type: 'agent.session.input.tool_result', turn_id: 't', call_id: 'c', success: true };
    const refused = await server.post(`/v1/agents/sessions/${id}/events`, { events: [result] }, headers);
    expect(refused.status).toBe(400);
    const taken = await server.post(`/v1/agents/sessions/${id}/events`, { events: [message('a')] }, headers);
    expect(taken.status).toBe(202);
    await idle(id);
  });
});

describe('lists', () => {
  it('have pages in both orders', async () => {
    const { id } = await create();
    for (const text of ['a', 'b', 'c']) {
      await server.post(`/v1/agents/sessions/${id}/events`, { events: [message(text)] });
      await idle(id);
    }
    const { sessions } = server.openai.beta.agents;
    const all: string[] = [];
    for await (const item of sessions.items.list(id, { limit: 2, order: 'asc' })) all.push(item.id ?? '');
    expect(all).toHaveLength(6);
    expect(new Set(all).size).toBe(6);
    expect((await list(`/v1/agents/sessions/${id}/items`)).data.map((item) => item.id)).toEqual(
      all.toReversed(),
    );
    const [turn] = (await sessions.turns.list(id)).data;
    const own: string[] = [];
    for await (const item of sessions.turns.items.list(turn!.id, { session_id: id, limit: 1 }))
      own.push(item.id ?? '');
    expect(own).toEqual(all.slice(4).toReversed());
    expect(await sessions.turns.retrieve(turn!.id, { session_id: id })).toEqual(turn);
    for (const at of ['items', 'turns', `turns/${turn!.id}/items`]) {
      expect(await failureOf(await server.send(`/v1/agents/sessions/${id}/${at}?after=nothing`))).toEqual([
        400,
        'invalid_value',
        'after',
      ]);
    }
    expect(await failureOf(await server.send(`/v1/agents/sessions/${id}/turns/turn_x`))).toEqual([
      404,
      'unknown_turn',
      null,
    ]);
    for (const at of ['subagents', 'artifacts', 'traces']) {
      expect(await (await server.send(`/v1/agents/sessions/${id}/${at}`)).json()).toEqual({
        object: 'list',
        data: [],
        first_id: null,
        last_id: null,
        has_more: false,
      });
    }
    expect(await failureOf(await server.send(`/v1/agents/sessions/${id}/subagents/a`))).toEqual([
      404,
      'unknown_subagent',
      null,
    ]);
    expect(await failureOf(await server.send(`/v1/agents/sessions/${id}/artifacts/a/content`))).toEqual([
      404,
      'unknown_artifact',
      null,
    ]);
  });

  it('find sessions by their agent and metadata', async () => {
    const made = await create({ metadata: { team: 'a', of: 'x' } });
    await create({ metadata: { team: 'b', of: 'x' } });
    const ids = async (query: string) =>
      (await list(`/v1/agents/sessions?${query}`)).data.map(({ id }) => id);
    expect(await ids('metadata[team]=a&metadata[of]=x')).toEqual([made.id]);
    expect(await ids('metadata[team]=a&metadata[of]=y')).toEqual([]);
    const { agent } = await server.openai.beta.agents.sessions.retrieve(made.id);
    expect(await ids(`agent_id=${agent.id}`)).toEqual([made.id]);
    await server.openai.beta.agents.sessions.update(made.id, { metadata: { team: 'c' } });
    expect(await ids('metadata[team]=c')).toEqual([made.id]);
    expect(await ids('metadata[team]=a')).toEqual([]);
  });
});

describe('saved agents', () => {
  it('are kept, changed, used and deleted', async () => {
    const { agents } = server.openai.beta;
    const made = await agents.create({
      model: 'gpt-5.5',
      name: 'Helper',
      instructions: 'Be short.',
      metadata: { a: 'b' },
    });
    expect(made).toMatchObject({
      object: 'agent',
      name: 'Helper',
      metadata: { a: 'b' },
      reasoning: { effort: null },
    });
    expect(await agents.retrieve(made.id)).toEqual(made);
    const changed = await agents.update(made.id, { reasoning: { effort: 'high' }, instructions: null });
    expect(changed).toMatchObject({
      name: 'Helper',
      instructions: null,
      reasoning: { effort: 'high', summary: null },
    });
    expect((await agents.list()).data.map(({ id }) => id)).toEqual([made.id]);
    const session = (await create({ agent_id: made.id, agent: { instructions: 'Be long.' } })) as unknown as {
      readonly agent: object;
    };
    expect(session.agent).toMatchObject({
      id: made.id,
      name: 'Helper',
      instructions: 'Be long.',
      reasoning: { effort: 'high' },
    });
    expect(await agents.delete(made.id)).toEqual({ id: made.id, object: 'agent.deleted', deleted: true });
    expect(await failureOf(await server.send(`/v1/agents/${made.id}`))).toEqual([404, 'unknown_agent', null]);
    expect(await failureOf(await server.post('/v1/agents', {}))).toEqual([
      400,
      'missing_required_parameter',
      'model',
    ]);
    expect(
      await failureOf(await server.post('/v1/agents', { model: 'gpt-5.5', tools: [{ type: 'mcp' }] })),
    ).toEqual([400, 'unsupported_tool', 'tools[0].type']);
  });
});

describe('environments', () => {
  it('are the workspaces of the key', async () => {
    expect(await list('/v1/agents/environments?order=asc')).toMatchObject({
      data: [
        {
          id: 'env_demo',
          object: 'agent.environment',
          type: 'self_hosted',
          status: 'connected',
          files: [],
          plugins: [],
          skills: [],
        },
        { id: 'env_docs' },
      ],
      has_more: false,
    });
    expect(await failureOf(await server.send('/v1/agents/environments/env_x'))).toEqual([
      404,
      'unknown_environment',
      null,
    ]);
    for (const at of [
      '/v1/agents/environments',
      '/v1/agents/environments/templates',
      '/v1/agents/automations',
      '/v1/vaults',
      '/v1/vaults/v/credentials',
    ]) {
      expect(await failureOf(await server.post(at, {}))).toEqual([404, 'endpoint_not_supported', null]);
    }
  });
});

describe('a session of another key', () => {
  it('is unknown, and its workspaces are those of the key', async () => {
    const { id } = await create();
    const made = await server.post('/v1/codex/keys', { name: 'a', scopes: ['infer'], workspaces: ['docs'] });
    const { key } = (await made.json()) as { readonly key: string };
    const asOther = (method: string, at: string) =>
      server.send(
        at,
        {
          method,
          ...(method === 'POST' ? { body: '{"events":[{"type":"agent.session.input.cancel"}]}' } : {}),
        },
        key,
      );
    const base = `/v1/agents/sessions/${id}`;
    for (const [method, at] of [
      ['GET', base],
      ['DELETE', base],
      ['POST', `${base}/events`],
      ['GET', `${base}/events`],
      ['GET', `${base}/items`],
      ['GET', `${base}/turns`],
    ] as const) {
      expect(await failureOf(await asOther(method, at))).toEqual([404, 'unknown_session', null]);
    }
    const refused = await server.post('/v1/agents/sessions', { environment: DEMO, agent: AGENT }, {}, key);
    expect(await refused.clone().text()).toContain('docs');
    expect(await failureOf(refused)).toEqual([400, 'unknown_workspace', 'environment.workspace_directory']);
    await create({ environment: { ...DEMO, workspace_directory: 'docs' } }, key);
    const environments = await server.send('/v1/agents/environments', {}, key);
    expect(await environments.json()).toMatchObject({ data: [{ id: 'env_docs' }] });
  });
});

describe('a key that is deleted', () => {
  it('reads no further events', async () => {
    const go = Promise.withResolvers<void>();
    const own = await startAgentServer({ script: () => [{ wait: go.promise }, { say: 'later' }] });
    try {
      const made = await own.post('/v1/codex/keys', { name: 'd', scopes: ['infer'], workspaces: ['demo'] });
      const { key, id: keyId } = (await made.json()) as { readonly key: string; readonly id: string };
      const session = { environment: DEMO, agent: AGENT, input: 'Go' };
      const { id } = (await (await own.post('/v1/agents/sessions', session, {}, key)).json()) as {
        readonly id: string;
      };
      await expect.poll(() => own.agents.requests.length).toBe(1);
      const events = await own.send(`/v1/agents/sessions/${id}/events`, {}, key);
      expect((await own.send(`/v1/codex/keys/${keyId}`, { method: 'DELETE' })).status).toBe(200);
      go.resolve();
      const read = await events.text();
      expect(read).toContain('agent.session.in_progress');
      expect(read).not.toContain('later');
    } finally {
      await own.close();
    }
  });
});

describe('a key that loses its workspace', () => {
  it('cannot go on with its sessions', async () => {
    const made = await server.post('/v1/codex/keys', { name: 'c', scopes: ['infer'], workspaces: ['demo'] });
    const { key, id: keyId } = (await made.json()) as { readonly key: string; readonly id: string };
    const running = await create({ input: 'block' });
    const { id } = await create({ input: 'a' }, key);
    const changed = await server.post(`/v1/codex/keys/${keyId}`, { workspaces: [] });
    expect(changed.status).toBe(200);
    const refused = await server.post(
      `/v1/agents/sessions/${id}/events`,
      { events: [message('b')] },
      {},
      key,
    );
    expect(await failureOf(refused)).toEqual([400, 'unknown_workspace', null]);
    await server.post(`/v1/agents/sessions/${running.id}/events`, {
      events: [{ type: 'agent.session.input.cancel' }],
    });
    const { sessions } = server.clientOf(key).beta.agents;
    await expect
      .poll(async () => (await sessions.turns.list(id)).data[0]?.error)
      .toEqual({
        code: 'invalid_request',
        message: "This key may not use the workspace 'demo' any more.",
      });
  });
});

describe('limits', () => {
  it('of turns that wait for a workspace', async () => {
    const running = await create({ input: 'block' });
    const { sessions } = server.openai.beta.agents;
    await expect
      .poll(async () => (await sessions.turns.list(running.id)).data[0]?.status)
      .toBe('in_progress');
    const waiting = await create({ input: 'b' });
    const refused = await server.post('/v1/agents/sessions', { environment: DEMO, agent: AGENT, input: 'c' });
    expect(await failureOf(refused)).toEqual([429, 'agent_queue_full', null]);
    expect(refused.headers.get('retry-after')).toBe('5');
    const busy = await server.send(`/v1/agents/sessions/${waiting.id}`, { method: 'DELETE' });
    expect([...(await failureOf(busy)), busy.headers.get('x-should-retry')]).toEqual([
      409,
      'session_busy',
      null,
      'false',
    ]);
    const cancel = { events: [{ type: 'agent.session.input.cancel' }] };
    await server.post(`/v1/agents/sessions/${running.id}/events`, cancel);
    await idle(waiting.id);
    expect((await sessions.turns.list(waiting.id)).data[0]?.status).toBe('completed');
  });

  it('of sessions', async () => {
    const made = await server.post('/v1/codex/keys', { name: 'b', scopes: ['infer'], workspaces: ['*'] });
    const { key } = (await made.json()) as { readonly key: string };
    for (let count = 0; count < 60; count += 1) await create({}, key);
    const refused = await server.post('/v1/agents/sessions', { environment: DEMO, agent: AGENT }, {}, key);
    expect(await failureOf(refused)).toEqual([429, 'session_limit', null]);
  });
});

describe('the API is off', () => {
  it.each([
    ['without a workspace', off, /`mcpServers` with `workspace`/],
    ['without a store', storeless, /PROXY_STORE=off/],
  ])('%s', async (_, one: AgentServer, words) => {
    for (const [method, at] of [
      ['GET', '/v1/agents'],
      ['POST', '/v1/agents/sessions'],
      ['GET', '/v1/agents/sessions/a/events'],
      ['GET', '/v1/vaults'],
      ['DELETE', '/v1/vaults/a'],
    ] as const) {
      const answer = await one.send(at, { method });
      expect(((await answer.clone().json()) as Failed).error.message).toMatch(words);
      expect(await failureOf(answer)).toEqual([404, 'endpoint_not_supported', null]);
    }
  });
});
