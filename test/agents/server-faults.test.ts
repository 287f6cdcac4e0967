import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { ModelServer, Script } from '../../src/demo/model-server.ts';
import { hasSandbox } from '../support/agent-workers.ts';
import { openCommandRoom, type CommandRoom, type RunningCommand } from '../support/command.ts';
import { commandLines } from '../support/is-alive.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startPostgres, type PostgresServer } from '../support/postgres.ts';
import { userMessage } from '../support/session-events.ts';
import { until } from '../support/until.ts';

/** Sessions of codex while servers and their database are killed: the real command, the real app-server, a scripted model. */

const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
const KEY = 'sk-test-key-0123456789';

const files = mcpFiles();
let postgres: PostgresServer;
let room: CommandRoom;
let folder: string;
let model: ModelServer;
let env: Readonly<Record<string, string>>;

/** Runs what the user says, and then says what it has heard. */
const runs: Script = ({ body }, connection) => {
  const items = body['input'] as readonly Readonly<Record<string, unknown>>[];
  const last = items.at(-1);
  if (last?.['type'] === 'function_call_output') return answer(connection, [{ text: 'Heard.' }]);
  const cmd = (last?.['content'] as readonly { readonly text: string }[] | undefined)?.[0]?.text ?? '';
  return answer(connection, [
    {
      call: {
        name: 'exec_command',
        arguments: { cmd, yield_time_ms: 30_000 },
        callId: `call_${items.length}`,
      },
    },
  ]);
};

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  room = await openCommandRoom();
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'server-faults-')));
  model = await room.startModel({ script: runs, keepRequests: 100 });
  env = {
    PROXY_API_KEY: KEY,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_DRAIN_TIMEOUT_MS: '1000',
    PROXY_DATABASE_URL: await postgres.createDatabase(),
    PROXY_MCP_CONFIG: files.write({ demo: { workspace: folder } }),
  };
});
afterEach(async () => {
  await room.close();
  rmSync(folder, { recursive: true, force: true });
});

const urlOf = ({ output }: RunningCommand): string | undefined =>
  /URL\s+(http:\/\/127\.0\.0\.1:\d+)/.exec(output.err)?.[1];

const start = async (name: string, more: Readonly<Record<string, string>> = {}) => {
  const stateDir = path.join(room.home, name);
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const command = room.start([], { ...env, PROXY_STATE_DIR: stateDir, ...more });
  await until(() => urlOf(command) !== undefined);
  const url = urlOf(command) ?? '';
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 });
  return { command, url, openai, sessions: openai.beta.agents.sessions };
};
type Server = Awaited<ReturnType<typeof start>>;

const create = ({ sessions }: Server, agent: object = {}) =>
  sessions.create({
    environment: { type: 'self_hosted', workspace_directory: 'demo' },
    agent: { model: 'gpt-5.5', ...agent },
  } as OpenAI.Beta.Agents.SessionCreateParamsNonStreaming);
const say = ({ sessions }: Server, id: string, text: string) =>
  sessions.events.create(id, { events: [userMessage(text)] } as never);
const turnsOf = async ({ sessions }: Server, id: string) =>
  (await sessions.turns.list(id, { order: 'asc' })).data;
const statusIs = (server: Server, id: string, status: string) =>
  until(async () => (await server.sessions.retrieve(id)).status === status);
const inFolder = (name: string): string => path.join(folder, name);

/** The events after this one until the session waits for its client. */
const eventsAfter = async (server: Server, id: string, after: string) => {
  const events: OpenAI.Beta.AgentSessionEvent[] = [];
  const stream = await server.sessions.events.stream(id, { headers: { 'Last-Event-ID': after } });
  for await (const event of stream) {
    events.push(event);
    if (event.type === 'agent.session.idle') break;
  }
  return events;
};

/** Collects the events of a session until its server is gone. */
const follow = async ({ sessions }: Server, id: string) => {
  const events: OpenAI.Beta.AgentSessionEvent[] = [];
  const stream = await sessions.events.stream(id);
  const read = async (): Promise<void> => {
    for await (const event of stream) events.push(event);
  };
  return { events, ended: read().catch(() => {}) };
};

describe.skipIf(!hasSandbox)('a turn of a server', NEEDS_SANDBOX, () => {
  it('that is killed is ended by the other server', async () => {
    const one = await start('one');
    const { id } = await create(one);
    const known = await follow(one, id);
    await say(one, id, 'touch begun; exec sleep 621');
    await until(() => existsSync(inFolder('begun')));
    await until(() => JSON.stringify(known.events).includes('"command_execution"'));
    // Not earlier: any server starts turns that wait.
    const two = await start('two');
    one.command.child.kill('SIGKILL');
    await known.ended;
    // It waits for the place of the turn that runs no more.
    const other = await create(two);
    await say(two, other.id, 'echo free > free.txt');
    const rest = await eventsAfter(two, id, known.events.at(-1)?.event_id ?? '');
    expect(rest.map(({ type }) => type).slice(-3)).toEqual([
      'agent.session.turn.item.done',
      'agent.session.turn.failed',
      'agent.session.idle',
    ]);
    expect(rest.at(-3)).toMatchObject({ item: { type: 'command_execution', status: 'incomplete' } });
    expect(rest.at(-2)).toMatchObject({
      turn: {
        status: 'failed',
        error: { code: 'server_error', message: 'The server stopped while this turn was running.' },
      },
    });
    const all = await eventsAfter(two, id, known.events[1]?.event_id ?? '');
    expect(all).toEqual([...known.events.slice(2), ...rest]);
    await until(() => existsSync(inFolder('free.txt')));
    await statusIs(two, other.id, 'idle');
    const again = await start('one');
    await until(() => !commandLines().includes('sleep 621'));
    await say(again, id, 'echo again > again.txt');
    await until(async () => (await turnsOf(two, id)).at(-1)?.status === 'completed');
    expect((await turnsOf(two, id)).map(({ status }) => status)).toEqual(['failed', 'completed']);
    expect(existsSync(inFolder('again.txt'))).toBe(true);
  }, 60_000);

  it('that is killed while it waits for an approval goes on where it is approved, once', async () => {
    const [one, two] = await Promise.all([start('one'), start('two')]);
    const approval = { type: 'function', name: 'codex_approval', description: 'Asks', parameters: {} };
    const { id } = await create(one, { tools: [approval] });
    await say(one, id, 'echo ran >> ran.txt');
    await statusIs(one, id, 'requires_action');
    one.command.child.kill('SIGKILL');
    await one.command.exited;
    const [action] = (await two.sessions.retrieve(id)).required_actions;
    expect(action).toMatchObject({ type: 'function_call', name: 'codex_approval' });
    const { turn_id: turnId, call_id: callId } = action as { turn_id: string; call_id: string };
    const result = {
      type: 'agent.session.input.tool_result',
      turn_id: turnId,
      call_id: callId,
      success: true,
      output: 'approve',
    };
    const approve = (server: Server) => server.sessions.events.create(id, { events: [result] } as never);
    const again = await start('one');
    const answers = await Promise.allSettled([two, again, two, again].map(approve));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await statusIs(two, id, 'idle');
    await expect(approve(again)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(`Unknown pending tool call: ${callId}`) as unknown,
    });
    expect((await turnsOf(again, id)).map(({ status }) => status)).toEqual(['completed']);
    expect(readFileSync(inFolder('ran.txt'), 'utf8')).toBe('ran\n');
  }, 60_000);

  it('that is ended by SIGTERM leaves nothing behind', async () => {
    const one = await start('one');
    const { id } = await create(one);
    const known = await follow(one, id);
    await say(one, id, 'touch begun; setsid sleep 622 & exec sleep 622');
    await until(() => existsSync(inFolder('begun')));
    one.command.child.kill('SIGTERM');
    expect(await one.command.exited).toEqual([0, null]);
    await known.ended;
    expect(commandLines()).not.toContain('sleep 622');
    const next = await start('one');
    const all = await eventsAfter(next, id, known.events[1]?.event_id ?? '');
    expect(all.slice(0, known.events.length - 2)).toEqual(known.events.slice(2));
    expect(all.map(({ type }) => type).slice(-3)).toEqual([
      'agent.session.turn.item.done',
      'agent.session.turn.failed',
      'agent.session.idle',
    ]);
    expect(await turnsOf(next, id)).toMatchObject([{ status: 'failed', error: { code: 'server_error' } }]);
    await say(next, id, 'echo free > free.txt');
    await statusIs(next, id, 'idle');
    expect(readFileSync(inFolder('free.txt'), 'utf8')).toBe('free\n');
  }, 60_000);

  it('ends while its database is gone', async () => {
    const one = await start('one', { PROXY_STORE_TIMEOUT_MS: '1000' });
    const { id } = await create(one);
    const known = await follow(one, id);
    await say(one, id, 'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo went');
    await until(() => existsSync(inFolder('begun')));
    await postgres.stop();
    const plain = await one.openai.responses.create({ model: 'gpt-5.5', input: 'ls', store: false });
    expect(plain.status).toBe('completed');
    await expect(one.sessions.retrieve(id)).rejects.toMatchObject({ status: 503 });
    writeFileSync(inFolder('go'), '');
    await until(() => JSON.stringify(model.requests.at(-1)?.body).includes('\\nwent'));
    await postgres.start();
    const isIdle = ({ status }: { readonly status: string }): boolean => status === 'idle';
    await until(() => one.sessions.retrieve(id).then(isIdle, () => false));
    expect(await turnsOf(one, id)).toMatchObject([{ status: 'completed', error: null }]);
    await until(() => known.events.at(-1)?.type === 'agent.session.idle');
    expect(await eventsAfter(one, id, known.events[1]?.event_id ?? '')).toEqual(known.events.slice(2));
    await say(one, id, 'echo free > free.txt');
    await statusIs(one, id, 'idle');
    expect(readFileSync(inFolder('free.txt'), 'utf8')).toBe('free\n');
  }, 60_000);
});
