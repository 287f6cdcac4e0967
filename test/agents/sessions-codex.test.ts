import { existsSync } from 'node:fs';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { sentBody, sentItems } from '../conformance/responses-sent.ts';
import { commandLines } from '../support/is-alive.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** Sessions of agents with the real app-server and the unmodified SDK of OpenAI. A script is the model. */

const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'sessions-codex-')));
afterAll(() => rm(folder, { recursive: true, force: true }));

const files = mcpFiles();
const fresh = freshProxies();
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: files.write({ demo: { workspace: folder } }),
});

const { sessions } = proxy.openai.beta.agents;

type Event = OpenAI.Beta.AgentSessionEvent;

const usage = {
  inputTokens: 10,
  cachedInputTokens: 1,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  totalTokens: 15,
};
const command = (cmd: string, callId: string): ScriptStep => ({
  call: { name: 'exec_command', arguments: { cmd }, callId },
});
/** A command whose call ends before it does. */
const starts = (cmd: string, callId: string): ScriptStep => ({
  call: { name: 'exec_command', arguments: { cmd, yield_time_ms: 250 }, callId },
});
/** Waits for the program that runs. */
const polls =
  (first: readonly ScriptStep[], callId: string): Script =>
  (request, connection) => {
    const session = Number(/session ID (\d+)/.exec(JSON.stringify(request.body))?.[1]);
    const call = { name: 'write_stdin', arguments: { session_id: session, yield_time_ms: 30_000 }, callId };
    return says([...first, { call }], { usage })(request, connection);
  };
const PATCH = '*** Begin Patch\n*** Add File: a.txt\n+hello\n*** End Patch\n';
const tool = (name: string) =>
  ({ type: 'function', name, description: name, parameters: { type: 'object', properties: {} } }) as const;

const create = (agent: object = {}) =>
  sessions.create({
    environment: { type: 'self_hosted', workspace_directory: 'demo' },
    agent: { model: 'gpt-5.5', ...agent },
  } as OpenAI.Beta.Agents.SessionCreateParamsNonStreaming);

const run = async (
  id: string,
  input: string,
  toolHandlers: Record<string, (given: Record<string, unknown>) => string> = {},
): Promise<Event[]> => {
  const events: Event[] = [];
  for await (const event of sessions.stream(id, { input, toolHandlers })) events.push(event);
  return events;
};

const doneIn = (events: readonly Event[]) =>
  events.flatMap((event) => (event.type === 'agent.session.turn.item.done' ? [event.item] : []));

describe('a session of codex', () => {
  it('runs commands and patches in its workspace', async () => {
    proxy.use(
      inTurn(
        says(
          [
            { text: 'I write.', phase: 'commentary' },
            command('echo two > f.txt; cat f.txt; exit 3', 'call_1'),
          ],
          { usage },
        ),
        says([{ call: { name: 'apply_patch', tool: 'custom', arguments: PATCH, callId: 'call_2' } }], {
          usage,
        }),
        says([{ text: 'Done.', phase: 'final_answer' }], { usage }),
      ),
    );
    const { id } = await create({ instructions: 'Be brief.' });
    const events = await run(id, 'Work');
    expect(doneIn(events)).toMatchObject([
      { type: 'message', phase: 'commentary', content: [{ text: 'I write.' }] },
      {
        type: 'command_execution',
        id: 'call_1',
        command: expect.stringContaining('echo two > f.txt'),
        cwd: folder,
        status: 'failed',
        output: 'two\n',
        exit_code: 3,
        duration_ms: expect.any(Number),
      },
      {
        type: 'mcp_call',
        server_label: 'codex',
        name: 'apply_patch',
        status: 'completed',
        arguments: { changes: [{ path: 'a.txt', kind: 'add', move_path: null }] },
      },
      { type: 'message', phase: 'final_answer', content: [{ text: 'Done.' }] },
    ]);
    expect(events.at(-2)).toMatchObject({
      type: 'agent.session.turn.completed',
      usage: { input_tokens: 30, output_tokens: 15, total_tokens: 45 },
    });
    expect(await readFile(path.join(folder, 'a.txt'), 'utf8')).toBe('hello\n');
    // The next turn gets the same again.
    const cacheKey = sentBody(proxy.model)['prompt_cache_key'];
    proxy.use(says([{ text: 'Yes.' }], { usage }));
    const result = await sessions.stream(id, { input: 'Sure?' }).finalResult();
    expect(result.output_text).toBe('Yes.');
    expect(sentBody(proxy.model)['prompt_cache_key']).toBe(cacheKey);
    const items = sentItems(proxy.model);
    const first = items.findIndex((item) => JSON.stringify(item).includes('"Work"'));
    expect(items.slice(first).map(({ type, role }) => role ?? type)).toEqual([
      'user',
      'assistant',
      'function_call',
      'function_call_output',
      'custom_tool_call',
      'custom_tool_call_output',
      'assistant',
      'user',
    ]);
    expect(JSON.stringify(items.slice(0, first))).toContain('Be brief.');
  });

  it('calls functions of its client', async () => {
    proxy.use(
      inTurn(
        says([{ call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_w' } }], { usage }),
        says([{ text: 'It is sunny.' }], { usage }),
      ),
    );
    const { id } = await create({ tools: [tool('get_weather')] });
    const asked: unknown[] = [];
    const stream = sessions.stream(id, {
      input: 'Weather?',
      toolHandlers: {
        get_weather(given) {
          asked.push(given);
          return 'sunny';
        },
      },
    });
    const result = await stream.finalResult();
    expect(result.output_text).toBe('It is sunny.');
    expect(asked).toEqual([{ city: 'Paris' }]);
    expect(sentItems(proxy.model).slice(-2)).toMatchObject([
      { type: 'function_call', call_id: 'call_w' },
      { type: 'function_call_output', call_id: 'call_w', output: 'sunny' },
    ]);
  });

  it('asks for approval before a command', async () => {
    proxy.use(
      inTurn(
        says([command('echo one > approved.txt', 'call_a'), command('echo two > declined.txt', 'call_b')], {
          usage,
        }),
        says([{ text: 'Done.' }], { usage }),
      ),
    );
    const { id } = await create({ tools: [tool('codex_approval')] });
    const events = await run(id, 'Work', {
      codex_approval: (given) =>
        JSON.stringify(given).includes('one') ? 'approve' : '{"approve":false,"reason":"not this one"}',
    });
    expect(events.at(-2)).toMatchObject({ type: 'agent.session.turn.completed' });
    expect(existsSync(path.join(folder, 'approved.txt'))).toBe(true);
    expect(existsSync(path.join(folder, 'declined.txt'))).toBe(false);
    const heard = sentItems(proxy.model).filter(({ type }) => type === 'function_call_output');
    expect(heard).toContainEqual(
      expect.objectContaining({ call_id: 'call_b', output: 'This call was declined: not this one' }),
    );
    expect(doneIn(events).filter(({ type }) => type === 'command_execution')).toMatchObject([
      { id: 'call_a', status: 'completed', exit_code: 0 },
    ]);
  });

  it('hears its client while a command runs', async () => {
    proxy.use(
      inTurn(
        says([command('touch begun; while [ ! -e go ]; do sleep 0.05; done; echo went', 'call_s')], {
          usage,
        }),
        says([{ text: 'Heard.' }], { usage }),
      ),
    );
    const { id } = await create();
    await sessions.events.create(id, {
      events: [
        {
          type: 'agent.session.input.message',
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'Wait' }] }],
        },
      ],
    });
    await until(() => existsSync(path.join(folder, 'begun')));
    await sessions.events.create(id, {
      events: [
        {
          type: 'agent.session.input.message',
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hurry' }] }],
        },
      ],
    });
    // It is passed on while the command runs.
    await sleep(500);
    await writeFile(path.join(folder, 'go'), '');
    await until(async () => (await sessions.retrieve(id)).status === 'idle');
    const items = (await sessions.items.list(id, { order: 'asc' })).data;
    expect(items.map((item) => ('content' in item ? item.content : item.type))).toMatchObject([
      [{ text: 'Wait' }],
      'command_execution',
      [{ text: 'Hurry' }],
      [{ text: 'Heard.' }],
    ]);
    expect((await sessions.turns.list(id)).data).toHaveLength(1);
  });

  it('ends a command that is cancelled', async () => {
    proxy.use(
      inTurn(says([command('touch sleeping; sleep 600', 'call_c')], { usage }), says([{ text: 'Never.' }])),
    );
    const { id } = await create();
    await sessions.events.create(id, {
      events: [
        {
          type: 'agent.session.input.message',
          input: [{ role: 'user', content: [{ type: 'input_text', text: 'Sleep' }] }],
        },
      ],
    });
    await until(() => existsSync(path.join(folder, 'sleeping')));
    await sessions.events.create(id, { events: [{ type: 'agent.session.input.cancel' }] });
    await until(async () => (await sessions.retrieve(id)).status === 'idle');
    const [turn] = (await sessions.turns.list(id)).data;
    expect(turn?.status).toBe('cancelled');
    expect((await sessions.items.list(id)).data[0]).toMatchObject({
      type: 'command_execution',
      status: 'failed',
      output: '',
    });
  });

  describe('with a command that goes on after its call', () => {
    const ticks = 'for n in 1 2 3 4 5 6 7 8; do sleep 0.25; echo tick $n; done';

    it('shows its output and its end', async () => {
      proxy.use(
        inTurn(
          says([starts(`${ticks}; exit 3`, 'call_l1')], { usage }),
          polls([{ text: 'It ticks.' }], 'call_w1'),
          says([{ text: 'It has ended.' }], { usage }),
        ),
      );
      const { id } = await create();
      const events = await run(id, 'Work');
      const output = [1, 2, 3, 4, 5, 6, 7, 8].map((nth) => `tick ${nth}\n`).join('');
      expect(doneIn(events)).toMatchObject([
        { content: [{ text: 'It ticks.' }] },
        { id: 'call_l1', status: 'failed', output, exit_code: 3, duration_ms: expect.any(Number) },
        { content: [{ text: 'It has ended.' }] },
      ]);
      const types = events.map(({ type }) => type);
      const said = types.indexOf('agent.session.turn.item.done');
      expect(types.lastIndexOf('agent.output.command_execution_output.delta')).toBeGreaterThan(said);
      const sent = sentItems(proxy.model);
      expect(sent.slice(-5)).toMatchObject([
        { call_id: 'call_l1', name: 'exec_command' },
        { call_id: 'call_l1', output: expect.stringContaining('Process running with session ID') },
        { role: 'assistant' },
        { call_id: 'call_w1', name: 'write_stdin' },
        { call_id: 'call_w1', output: expect.stringContaining('Process exited with code 3') },
      ]);
      // The next turn gets the same again.
      proxy.use(says([{ text: 'Yes.' }], { usage }));
      await run(id, 'Sure?');
      const again = sentItems(proxy.model);
      const first = again.findIndex(({ call_id: callId }) => callId === 'call_l1');
      expect(again.slice(first, first + 5)).toMatchObject(sent.slice(-5));
    });

    it('ends it with the turn', async () => {
      const ticked = path.join(folder, 'ticked1');
      proxy.use(
        inTurn(
          says([starts(`${ticks}; touch ticked1; exec sleep 612`, 'call_l2')], { usage }),
          says([{ wait: until(() => existsSync(ticked)) }, { text: 'I leave it.' }], { usage }),
        ),
      );
      const { id } = await create();
      const events = await run(id, 'Work');
      expect(doneIn(events)).toMatchObject([
        { content: [{ text: 'I leave it.' }] },
        { id: 'call_l2', status: 'failed', output: expect.stringContaining('tick 7\n'), exit_code: -1 },
      ]);
      expect(events.at(-2)).toMatchObject({ type: 'agent.session.turn.completed' });
      expect(commandLines()).not.toContain('sleep 612');
    });

    it('ends it when the turn is cancelled', async () => {
      const ticked = path.join(folder, 'ticked2');
      proxy.use(
        inTurn(
          says([starts(`${ticks}; touch ticked2; exec sleep 613`, 'call_l3')], { usage }),
          polls([], 'call_w3'),
          says([{ text: 'Never.' }]),
        ),
      );
      const { id } = await create();
      const running = run(id, 'Work');
      await until(() => existsSync(ticked));
      const [item] = (await sessions.items.list(id)).data;
      expect(item).toMatchObject({ id: 'call_l3', status: 'in_progress', output: null });
      await sessions.events.create(id, { events: [{ type: 'agent.session.input.cancel' }] });
      const events = await running;
      expect(doneIn(events)).toMatchObject([
        { id: 'call_l3', status: 'failed', output: expect.stringContaining('tick 7\n'), exit_code: -1 },
      ]);
      expect(events.at(-2)).toMatchObject({ type: 'agent.session.turn.cancelled' });
      expect(commandLines()).not.toContain('sleep 613');
    });
  });

  it('ends its turn and its commands when the server stops', async () => {
    const own = await fresh(inTurn(says([command('touch stopping; exec sleep 611', 'call_d')], { usage })), {
      PROXY_MCP_CONFIG: files.write({ demo: { workspace: folder } }),
    });
    const { id } = await own.openai.beta.agents.sessions.create({
      environment: { type: 'self_hosted', workspace_directory: 'demo' },
      agent: { model: 'gpt-5.5' },
      input: 'Sleep',
    });
    const events = (await own.get(`/v1/agents/sessions/${id}/events`)).text();
    await until(() => existsSync(path.join(folder, 'stopping')));
    await own.close();
    const types = (await events).match(/^event: .*$/gm) ?? [];
    expect(types.slice(-3)).toEqual([
      'event: agent.session.turn.item.done',
      'event: agent.session.turn.failed',
      'event: agent.session.idle',
    ]);
    expect(await events).toContain('The server stopped while this turn was running.');
    expect(commandLines()).not.toContain('sleep 611');
  });

  it('has no tools of codex without a workspace', async () => {
    proxy.use(says([{ text: 'Only words.' }], { usage }));
    const stream = await sessions.create({
      environment: { type: 'none' },
      agent: { model: 'gpt-5.5' },
      input: 'Hi',
      stream: true,
    });
    expect((await stream.finalResult()).output_text).toBe('Only words.');
    expect(sentBody(proxy.model)['tools'] ?? []).toEqual([]);
  });
});
