import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, expect, it } from 'vitest';

import { startAgentServer, type AgentServer } from '../support/agent-server.ts';
import { answerQuestions } from '../support/open-door.ts';
import { until } from '../support/until.ts';

/** The MCP door over the sessions of the Agents API. Runs of codex follow a script. */

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const start = async (...options: Parameters<typeof startAgentServer>): Promise<AgentServer> => {
  const server = await startAgentServer(...options);
  closing.push(() => server.close());
  return server;
};

const KEY = 'sk-test-key-0123456789';

const connect = async (
  { url }: AgentServer,
  { key = KEY, onQuestion }: { key?: string; onQuestion?: (question: string) => string } = {},
): Promise<Client> => {
  const capabilities = onQuestion === undefined ? {} : { elicitation: {} };
  const client = new Client({ name: 'test', version: '1' }, { capabilities });
  if (onQuestion !== undefined) await answerQuestions(client, onQuestion);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  closing.push(() => client.close());
  return client;
};

const callCodex = (client: Client, args: object = {}) =>
  client.callTool({ name: 'codex', arguments: { prompt: 'Hi', cwd: 'demo', model: 'gpt-5.5', ...args } });

const threadIn = (result: object): string =>
  (result as { structuredContent: { threadId: string } }).structuredContent.threadId;

it('a session goes on over both doors', async () => {
  const server = await start({
    script: (_, run) => [{ say: 'Looking.', phase: 'commentary' }, { say: `Turn ${run}.` }],
  });
  const client = await connect(server);
  const first = await callCodex(client, { 'developer-instructions': 'Be brief.' });
  const threadId = threadIn(first);
  expect(first).toEqual({
    content: [{ type: 'text', text: 'Turn 1.' }],
    structuredContent: { threadId, content: 'Turn 1.' },
  });
  expect(await server.openai.beta.agents.sessions.retrieve(threadId)).toMatchObject({
    id: threadId,
    status: 'idle',
    metadata: { source: 'mcp' },
    agent: { model: 'gpt-5.5', instructions: 'Be brief.', tools: [] },
  });
  const turn = server.openai.beta.agents.sessions.stream(threadId, { input: 'And now?' });
  for await (const _ of turn) {
    // To its end.
  }
  const reply = { name: 'codex-reply', arguments: { prompt: 'Again', threadId } };
  expect(await client.callTool(reply)).toMatchObject({ structuredContent: { threadId, content: 'Turn 3.' } });
  // The model reads all three turns.
  expect(JSON.stringify(server.agents.requests.at(-1)?.request.items)).toMatch(/Hi.*And now\?.*Again/);
});

it('sandbox and cwd choose where a run works and what it may change', async () => {
  const server = await start();
  const client = await connect(server);
  await callCodex(client, { sandbox: 'read-only' });
  await callCodex(client, { sandbox: 'workspace-write', cwd: server.folder });
  await callCodex(client, { cwd: 'docs' });
  expect(server.agents.requests.map(({ workspace, access }) => [workspace?.label, access])).toEqual([
    ['demo', 'read'],
    ['demo', 'write'],
    ['docs', 'read'],
  ]);
  const refused = await callCodex(client, { cwd: `${server.folder}/inside` });
  expect(refused).toEqual({
    content: [{ type: 'text', text: expect.stringMatching(/demo, docs/) }],
    isError: true,
  });
});

it('untrusted: the user approves each command', async () => {
  const script = (_: unknown, run: number) =>
    run === 1 ? [{ command: 'make', callId: 'c1' }] : [{ say: `Run ${run} is done.` }];
  const server = await start({ script });
  const questions: string[] = [];
  const client = await connect(server, {
    onQuestion(question) {
      questions.push(question);
      return 'accept';
    },
  });
  const result = await callCodex(client, { 'approval-policy': 'untrusted' });
  expect(result).toMatchObject({ structuredContent: { content: 'Run 2 is done.' } });
  expect(questions).toEqual([`Allow codex to run make in ${server.folder}?`]);
  expect(server.agents.requests[1]?.approved).toHaveLength(1);
});

it('untrusted: what the user declines does not run', async () => {
  const script = (_: unknown, run: number) =>
    run === 1 ? [{ command: 'make', callId: 'c1' }] : [{ say: 'Not done.' }];
  const server = await start({ script });
  const client = await connect(server, { onQuestion: () => 'decline' });
  const result = await callCodex(client, { 'approval-policy': 'untrusted' });
  expect(result).toMatchObject({ structuredContent: { content: 'Not done.' } });
  expect(server.agents.requests[1]?.approved).toEqual([]);
});

it('a cancelled call ends the command', async () => {
  const server = await start({
    script: () => [{ command: 'sleep 60', callId: 'c1', until: new Promise(() => {}) }],
  });
  const client = await connect(server);
  const stop = new AbortController();
  const called = client.callTool({ name: 'codex', arguments: { prompt: 'Hi', cwd: 'demo' } }, undefined, {
    signal: stop.signal,
  });
  const reason = called.then(() => 'it was answered', String);
  await until(() => server.agents.commands.size === 1);
  stop.abort('enough');
  expect(await reason).toContain('enough');
  await until(() => server.agents.commands.size === 0);
  const [session] = (await server.openai.beta.agents.sessions.list()).data;
  const turns = await server.openai.beta.agents.sessions.turns.list(session?.id ?? '');
  expect(turns.data.map(({ status }) => status)).toEqual(['cancelled']);
});

it('a session that is busy, of another key, or unknown is an error of the tool', async () => {
  const go = Promise.withResolvers<void>();
  const server = await start({ script: () => [{ wait: go.promise }, { say: 'Done.' }] });
  const client = await connect(server);
  const first = callCodex(client);
  await until(() => server.agents.running === 1);
  const [session] = (await server.openai.beta.agents.sessions.list()).data;
  const threadId = session?.id ?? '';
  const reply = (one: Client, id: string) =>
    one.callTool({ name: 'codex-reply', arguments: { prompt: 'x', threadId: id } });
  expect(await reply(client, threadId)).toMatchObject({ isError: true });
  go.resolve();
  expect(threadIn(await first)).toBe(threadId);
  const made = await server.post('/v1/codex/keys', { name: 'other', workspaces: ['demo'] });
  const { key } = (await made.json()) as { key: string };
  const other = await connect(server, { key });
  expect((await other.listTools()).tools.map(({ name }) => name)).toContain('codex');
  const unknown = { content: [{ type: 'text', text: expect.stringContaining('not found') }], isError: true };
  expect(await reply(other, threadId)).toEqual(unknown);
  expect(await reply(client, 'asess_nope')).toEqual(unknown);
  expect(await callCodex(other, { cwd: 'docs' })).toMatchObject({ isError: true });
});

it('the session of MCP that was idle for longest gives way to a new one', async () => {
  const server = await start({ limits: { maxSessions: 2 } });
  const client = await connect(server);
  const own = await server.openai.beta.agents.sessions.create({
    environment: { type: 'self_hosted', workspace_directory: 'demo' },
    agent: { model: 'gpt-5.5' },
  });
  const oldest = threadIn(await callCodex(client));
  const newest = threadIn(await callCodex(client));
  const left = (await server.openai.beta.agents.sessions.list()).data.map(({ id }) => id);
  expect(left.toSorted()).toEqual([own.id, newest].toSorted());
  expect(left).not.toContain(oldest);
});

it('a turn that fails is an error of the tool', async () => {
  const server = await start({
    limits: { turnTimeoutMs: 1_000 },
    script: () => [{ wait: new Promise(() => {}) }],
  });
  const client = await connect(server);
  expect(await callCodex(client)).toEqual({
    content: [{ type: 'text', text: expect.stringMatching(/ \(threadId asess_\w+\)$/) }],
    isError: true,
  });
});

it('without a workspace only ask and review are there', async () => {
  const client = await connect(await start({ isOff: true }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ask', 'review']);
});

it('an open session does not keep the server from stopping', async () => {
  const server = await start();
  const client = await connect(server);
  await client.ping();
  const began = server.log.length;
  // Longer than the test may take.
  await server.stop(600_000);
  const requests = server.log.slice(began).filter(({ msg }) => msg === 'request');
  expect(requests.map(({ method, status }) => [method, status])).toEqual([['GET', 200]]);
});
