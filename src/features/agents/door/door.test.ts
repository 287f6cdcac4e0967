import { afterEach, describe, expect, it } from 'vitest';

import { openTestDoor } from '../../../../test/support/open-door.ts';
import { until } from '../../../../test/support/until.ts';
import type { TurnScript } from '../../../../test/support/scripted-sessions.ts';
import { VERSION } from '../../../version.ts';
import { IDLE_MS } from './mcp-sessions.ts';

let open: ReturnType<typeof openTestDoor> | null = null;
afterEach(async () => {
  await open?.close();
  expect(open?.bugs ?? []).toEqual([]);
  open = null;
});

const door = (...options: Parameters<typeof openTestDoor>): ReturnType<typeof openTestDoor> =>
  (open = openTestDoor(...options));

const echo: TurnScript = ({ prompt, say }) => say(`Done: ${prompt}`);

const call = (name: string, args: object, id = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
});

const error = (id: number | string | null, code: number, message: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});

const failed = (text: string) => ({ content: [{ type: 'text', text }], isError: true });

/** Why a call was rejected. */
const reasonOf = (called: Promise<unknown>): Promise<string> => called.then(() => 'it was answered', String);

const initializeAs = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } },
});

describe('a session', () => {
  it('begins with a version that both sides have', async () => {
    const { post } = door(echo);
    const answer = await post(initializeAs('2025-06-18'));
    expect(answer.headers.get('mcp-session-id')).toMatch(/^mcp_/);
    expect(await answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 0,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'codex-app-server-proxy', version: VERSION },
        instructions: expect.any(String),
      },
    });
    expect(await (await post(initializeAs('1999-01-01'))).json()).toMatchObject({
      result: { protocolVersion: '2025-11-25' },
    });
  });

  it('belongs to its key, and ends with DELETE or after 30 idle minutes', async () => {
    const { post, send, clock } = door(echo);
    const start = async () =>
      (await post(initializeAs('2025-06-18'))).headers.get('mcp-session-id') ?? 'missing';
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const ended = await start();
    expect(await (await post(ping, { 'mcp-session-id': ended })).json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {},
    });
    const other = await post(ping, { 'mcp-session-id': ended, authorization: 'Bearer both' });
    expect([other.status, await other.json()]).toEqual([
      404,
      error(null, -32001, 'Session not found: initialize again.'),
    ]);
    const headers = { authorization: 'Bearer one', 'mcp-session-id': ended };
    expect((await send('/mcp', { method: 'DELETE', headers })).status).toBe(204);
    expect((await post(ping, { 'mcp-session-id': ended })).status).toBe(404);
    const idle = await start();
    clock.nowMs += IDLE_MS - 1;
    expect((await post(ping, { 'mcp-session-id': idle })).status).toBe(200);
    clock.nowMs += IDLE_MS - 1;
    expect((await post(ping, { 'mcp-session-id': idle })).status).toBe(200);
    clock.nowMs += IDLE_MS;
    expect((await post(ping, { 'mcp-session-id': idle })).status).toBe(404);
  });

  it('makes room for another one of its key when there are 100', async () => {
    const { post, clock } = door(echo);
    const ids: string[] = [];
    for (let count = 0; count < 101; count += 1) {
      ids.push((await post(initializeAs('2025-06-18'))).headers.get('mcp-session-id') ?? '');
      clock.nowMs += 1;
    }
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const states = await Promise.all(
      [ids[0], ids[1], ids[100]].map(async (id) => (await post(ping, { 'mcp-session-id': id ?? '' })).status),
    );
    expect(states).toEqual([404, 200, 200]);
  });

  it('has a stream, which ends with the session, with a newer one, and when the server stops', async () => {
    const { post, send, drain } = door(echo);
    const start = async () => {
      const id = (await post(initializeAs('2025-06-18'))).headers.get('mcp-session-id') ?? '';
      return { authorization: 'Bearer one', 'mcp-session-id': id };
    };
    const headers = await start();
    const first = await send('/mcp', { headers });
    expect(first.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const second = await send('/mcp', { headers });
    expect(await first.text()).toBe('');
    await send('/mcp', { method: 'DELETE', headers });
    expect(await second.text()).toBe('');
    const third = await send('/mcp', { headers: await start() });
    drain();
    expect(await third.text()).toBe('');
    expect((await send('/mcp', { headers: { authorization: 'Bearer one' } })).status).toBe(405);
  });
});

describe('messages', () => {
  it.each<readonly [string, unknown, number, object]>([
    ['invalid JSON', '{"jsonrpc":', 400, error(null, -32700, expect.any(String))],
    [
      'too large a body',
      `"${'x'.repeat(200_000)}"`,
      413,
      error(null, -32000, expect.stringMatching(/larger than the 100000 bytes/)),
    ],
    ['no object', 7, 400, error(null, -32600, 'Invalid message: a message is an object.')],
    [
      'another JSON-RPC',
      { id: 1, method: 'ping' },
      400,
      error(1, -32600, expect.stringMatching(/"jsonrpc" has to be/)),
    ],
    [
      'an id of null',
      { jsonrpc: '2.0', id: null, method: 'ping' },
      400,
      error(null, -32600, expect.stringMatching(/"id" has to be/)),
    ],
    [
      'an unknown method',
      { jsonrpc: '2.0', id: 'a', method: 'prompts/list' },
      200,
      error('a', -32601, expect.any(String)),
    ],
    ['an unknown tool', call('nope', {}), 200, error(1, -32602, expect.stringMatching(/^Unknown tool/))],
    ['a missing prompt', call('codex', {}), 200, error(1, -32602, "Missing argument: 'prompt'.")],
    ['arguments of another type', call('ask', []), 200, error(1, -32602, "'arguments' has to be an object.")],
    ['an empty batch', [], 400, error(null, -32600, 'The batch is empty.')],
    [
      'initialize in a batch',
      [initializeAs('2025-03-26')],
      400,
      error(null, -32600, expect.stringMatching(/of its own/)),
    ],
  ])('%s is refused', async (_name, message, status, body) => {
    const { post } = door(echo);
    const answer = await post(message, { accept: 'application/json' });
    expect([answer.status, await answer.json()]).toEqual([status, body]);
  });

  it('that need no answer get none', async () => {
    const { post } = door(echo);
    const answer = await post({ jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([answer.status, await answer.text()]).toEqual([202, '']);
  });

  it('come in batches if the version has them', async () => {
    const { post } = door(echo);
    const batch = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      call('codex', { prompt: 'Hi' }, 2),
    ];
    const streamed = await post(batch);
    expect((await streamed.text()).match(/^data: .*"id":\d/gm)).toHaveLength(2);
    const answer = await post(batch, { accept: 'application/json' });
    expect(await answer.json()).toEqual([
      { jsonrpc: '2.0', id: 1, result: {} },
      {
        jsonrpc: '2.0',
        id: 2,
        result: expect.objectContaining({ content: [{ type: 'text', text: 'Done: Hi' }] }),
      },
    ]);
    const newer = await post(batch, { 'mcp-protocol-version': '2025-06-18' });
    expect([newer.status, await newer.json()]).toEqual([
      400,
      error(null, -32600, 'Protocol version 2025-06-18 has no batches: send one message.'),
    ]);
    const unknown = await post(batch, { 'mcp-protocol-version': '1.0' });
    expect([unknown.status, await unknown.json()]).toEqual([
      400,
      error(null, -32000, expect.stringMatching(/^Unsupported protocol version/)),
    ]);
  });
});

describe('tools', () => {
  it.each([
    ['one', ['codex', 'codex-reply', 'ask', 'review']],
    ['none', ['ask', 'review']],
  ])('of the key %s', async (key, names) => {
    const client = await door(echo).connect(key);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(tools.map(({ inputSchema }) => inputSchema.type)).toEqual(names.map(() => 'object'));
    if (key === 'none') {
      await expect(client.callTool({ name: 'codex', arguments: { prompt: 'x' } })).rejects.toThrow(
        /Unknown tool/,
      );
    }
  });

  it('codex needs stored sessions', async () => {
    const client = await door(echo, { hasSessions: false }).connect('one');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['ask', 'review']);
  });

  it('have the names and fields of codex', async () => {
    const client = await door(echo).connect('one');
    const [codex, reply] = (await client.listTools()).tools;
    expect([codex?.inputSchema.required, reply?.inputSchema.required]).toEqual([['prompt'], ['prompt']]);
    expect(Object.keys(codex?.inputSchema.properties ?? {})).toEqual([
      'prompt',
      'cwd',
      'model',
      'sandbox',
      'approval-policy',
      'developer-instructions',
      'base-instructions',
      'config',
      'profile',
      'compact-prompt',
    ]);
    expect(Object.keys(reply?.inputSchema.properties ?? {})).toEqual([
      'prompt',
      'threadId',
      'conversationId',
    ]);
    expect([codex?.outputSchema, reply?.outputSchema]).toEqual(
      Array.from({ length: 2 }, () => ({
        type: 'object',
        properties: { threadId: { type: 'string' }, content: { type: 'string' } },
        required: ['threadId', 'content'],
      })),
    );
  });
});

describe('codex', () => {
  const threadIn = (result: object): string =>
    (result as { structuredContent: { threadId: string } }).structuredContent.threadId;

  it('runs a turn in a new session, which codex-reply continues', async () => {
    const { connect, agents } = door(({ prompt, run, say }) => {
      say('Looking.', 'commentary');
      run('ls');
      say(`Done: ${prompt}`);
    });
    const client = await connect('one');
    const first = await client.callTool({
      name: 'codex',
      arguments: {
        prompt: 'One',
        model: 'gpt-5.5',
        sandbox: 'read-only',
        'developer-instructions': 'Be brief.',
        config: {},
        'compact-prompt': 'x',
      },
    });
    const threadId = threadIn(first);
    expect(first).toEqual({
      content: [{ type: 'text', text: 'Done: One' }],
      structuredContent: { threadId, content: 'Done: One' },
    });
    expect(agents.created).toEqual([
      {
        access: 'read',
        body: {
          environment: { type: 'self_hosted', workspace_directory: 'demo' },
          agent: { model: 'gpt-5.5', instructions: 'Be brief.' },
          input: 'One',
          metadata: { source: 'mcp' },
        },
      },
    ]);
    for (const field of ['threadId', 'conversationId']) {
      const second = await client.callTool({
        name: 'codex-reply',
        arguments: { prompt: 'Two', [field]: threadId },
      });
      expect(second['structuredContent']).toEqual({ threadId, content: 'Done: Two' });
    }
  });

  it.each<readonly [object, string | RegExp]>([
    [{}, "Missing argument: 'cwd'. Use the name of a workspace: demo, docs."],
    [{ cwd: '/etc' }, 'Unknown workspace. Yours: demo, docs.'],
    [{ cwd: 'demo', sandbox: 'danger-full-access' }, /'danger-full-access' is not available/],
    [{ cwd: 'demo', sandbox: 'none' }, /^Invalid value: 'none'/],
    [{ cwd: 'demo', config: { model_provider: 'x' } }, /^Unsupported argument: 'config'/],
    [
      { cwd: 'demo', profile: 'p', 'base-instructions': 'x' },
      /^Unsupported argument: 'profile', 'base-instructions'/,
    ],
    [{ cwd: 'demo', 'approval-policy': 'untrusted' }, /needs a client that can ask its user/],
    [{ cwd: 'demo', 'include-plan-tool': true }, "Unknown argument: 'include-plan-tool'."],
  ])('%j: a tool error', async (args, text) => {
    const client = await door(echo).connect('both');
    const result = await client.callTool({ name: 'codex', arguments: { prompt: 'x', ...args } });
    expect(result).toEqual({
      content: [{ type: 'text', text: typeof text === 'string' ? text : expect.stringMatching(text) }],
      isError: true,
    });
  });

  it('reports a turn that fails, and a session that is unknown', async () => {
    const client = await door(() => {
      throw new Error('The model is overloaded.');
    }).connect('one');
    expect(await client.callTool({ name: 'codex', arguments: { prompt: 'x' } })).toEqual(
      failed('The model is overloaded. (threadId asess_1)'),
    );
    const reply = (args: object) =>
      client.callTool({ name: 'codex-reply', arguments: { prompt: 'x', ...args } });
    expect(await reply({ threadId: 'asess_nope' })).toEqual(
      failed("Session with id 'asess_nope' not found."),
    );
    expect(await reply({})).toEqual(failed("Missing argument: 'threadId'."));
  });

  it('reports a session that is busy', async () => {
    const go = Promise.withResolvers<void>();
    const client = await door(async ({ say }) => {
      await go.promise;
      say('Done.');
    }).connect('one');
    const first = client.callTool({ name: 'codex', arguments: { prompt: 'x' } });
    const reply = () =>
      client.callTool({ name: 'codex-reply', arguments: { prompt: 'y', threadId: 'asess_1' } });
    await expect.poll(reply).toEqual(failed('This session has a turn that has not ended. Cancel it first.'));
    go.resolve();
    expect(await first).toMatchObject({ structuredContent: { content: 'Done.' } });
  });

  it('reports progress: each command and each item', async () => {
    const seen: unknown[] = [];
    const client = await door(async ({ run, patch, say }) => {
      run(`echo ${'x'.repeat(300)}`);
      patch('src/a.ts');
      say('Done.');
      // The SDK drops progress that comes together with the result.
      await until(() => seen.length === 3);
    }).connect('one');
    await client.callTool({ name: 'codex', arguments: { prompt: 'x' } }, undefined, {
      onprogress: (progress) => void seen.push(progress),
    });
    expect(seen).toEqual([
      { progress: 1, message: `echo ${'x'.repeat(195)}` },
      { progress: 2, message: 'apply_patch src/a.ts' },
      { progress: 3, message: 'message' },
    ]);
  });

  it('runs without a session, and then tells nothing before its end', async () => {
    const { post } = door(({ run, say }) => {
      run('ls');
      say('Done.');
    });
    const message = call('codex', { prompt: 'x' });
    const withToken = { ...message, params: { ...message.params, _meta: { progressToken: 7 } } };
    const result = {
      jsonrpc: '2.0',
      id: 1,
      result: {
        content: [{ type: 'text', text: 'Done.' }],
        structuredContent: { threadId: 'asess_1', content: 'Done.' },
      },
    };
    expect(await (await post(withToken)).text()).toBe(`event: message\ndata: ${JSON.stringify(result)}\n\n`);
    const whole = await post(withToken, { accept: 'application/json' });
    expect(await whole.json()).toMatchObject({ result: { structuredContent: { content: 'Done.' } } });
  });
});

describe('an approval', () => {
  const approving: TurnScript = async ({ call: ask, say }) => {
    const command = await ask('codex_approval', {
      name: 'exec_command',
      arguments: { cmd: 'rm -r dist' },
      cwd: '/srv/demo',
    });
    const patch = await ask('codex_approval', {
      name: 'apply_patch',
      arguments: {
        patch:
          '*** Begin Patch\n*** Add File: a.txt\n+a\n*** Update File: b.txt\n*** Move to: c.txt\n*** End Patch',
      },
      cwd: '/srv/demo',
    });
    say(
      JSON.stringify([command, patch].map(({ success, output, error: why }) => ({ success, output, why }))),
    );
  };
  const untrusted = { name: 'codex', arguments: { prompt: 'x', 'approval-policy': 'untrusted' } };

  it('is asked of the user', async () => {
    const questions: string[] = [];
    const { connect, agents } = door(approving);
    const client = await connect('one', (question) => {
      questions.push(question);
      return questions.length === 1 ? 'accept' : 'decline';
    });
    const { structuredContent } = await client.callTool(untrusted);
    expect(JSON.parse((structuredContent as { content: string }).content)).toEqual([
      { success: true, output: 'approve' },
      { success: false, why: 'The user declined it.' },
    ]);
    expect(questions).toEqual([
      'Allow codex to run rm -r dist in /srv/demo?',
      'Allow codex to change a.txt (new), b.txt, c.txt in /srv/demo?',
    ]);
    expect(agents.created[0]?.body['agent']).toEqual({
      model: 'codex-5',
      tools: [expect.objectContaining({ type: 'function', name: 'codex_approval' })],
    });
  });

  it('shows all of what it approves', async () => {
    const hiding: TurnScript = async ({ call: ask, say }) => {
      const cwd = '/srv/demo';
      const cmd = 'ls \u202E\u001B[8mx';
      const more = { shell: './evil.sh', tty: true };
      await ask('codex_approval', { name: 'exec_command', arguments: { cmd, ...more }, cwd });
      const patch = [
        '*** Begin Patch',
        '*** Add File: a.txt',
        '+a',
        ' \t*** Add File:   .hidden.sh ',
        '+*** Add File: no',
        '*** Delete File: b\rc',
        '*** update file: d',
        '*** End Patch',
      ].join('\n');
      await ask('codex_approval', { name: 'apply_patch', arguments: { patch }, cwd });
      say('Done.');
    };
    const questions: string[] = [];
    const client = await door(hiding).connect('one', (question) => {
      questions.push(question);
      return 'decline';
    });
    await client.callTool(untrusted);
    expect(questions).toEqual([
      String.raw`Allow codex to run ls \u{202e}\u{1b}[8mx with ./evil.sh in /srv/demo?`,
      String.raw`Allow codex to change a.txt (new), .hidden.sh (new), b\u{d}c (deleted), d in /srv/demo?`,
    ]);
  });

  it('is declined if the user does not answer in time', async () => {
    const client = await door(approving, { approvalMs: 10 }).connect('one', () => new Promise(() => {}));
    const { structuredContent } = await client.callTool(untrusted);
    expect((structuredContent as { content: string }).content).not.toContain('true');
  });

  it('is needed by later turns of the session, too', async () => {
    const { connect } = door(echo);
    const asking = await connect('one', () => 'accept');
    await asking.callTool(untrusted);
    const reply = { name: 'codex-reply', arguments: { prompt: 'y', threadId: 'asess_1' } };
    expect(await asking.callTool(reply)).toMatchObject({ structuredContent: { content: 'Done: y' } });
    const other = await connect('one');
    expect(await other.callTool(reply)).toMatchObject({ isError: true });
  });

  it('of a function that only another client has ends the call', async () => {
    const { connect } = door(async ({ call: ask }) => void (await ask('get_weather', {})));
    const client = await connect('one');
    expect(await client.callTool({ name: 'codex', arguments: { prompt: 'x' } })).toEqual(
      failed(
        "The session waits for the result of its function 'get_weather', which only a client of /v1/agents/sessions can give (threadId asess_1).",
      ),
    );
  });
});

describe('a call that is cancelled', () => {
  const endless = () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const script: TurnScript = async ({ cancelled }) => {
      begun.resolve(cancelled);
      await new Promise(() => {});
    };
    return { begun: begun.promise, script };
  };

  it('by the client cancels the turn', async () => {
    const { begun, script } = endless();
    const client = await door(script).connect('one');
    const stop = new AbortController();
    const called = client.callTool({ name: 'codex', arguments: { prompt: 'x' } }, undefined, {
      signal: stop.signal,
    });
    const ended = reasonOf(called);
    const cancelled = await begun;
    stop.abort('enough');
    expect(await ended).toContain('enough');
    await expect.poll(() => cancelled.aborted).toBe(true);
  });

  it('by the end of its connection cancels the turn', async () => {
    const { begun, script } = endless();
    const { send } = door(script);
    const leave = new AbortController();
    const answer = await send('/mcp', {
      method: 'POST',
      headers: { authorization: 'Bearer one', accept: 'text/event-stream' },
      body: JSON.stringify(call('codex', { prompt: 'x' })),
      signal: leave.signal,
    });
    const cancelled = await begun;
    leave.abort();
    await answer.body?.cancel().catch(() => {});
    await expect.poll(() => cancelled.aborted).toBe(true);
  });

  it('by the end of its session cancels the turn', async () => {
    const { begun, script } = endless();
    const { connect, server } = door(script);
    const client = await connect('one');
    const called = client.callTool({ name: 'codex', arguments: { prompt: 'x' } });
    called.catch(() => {});
    const cancelled = await begun;
    const { sessionId = '' } = client.transport as { sessionId?: string };
    await server.fetch(
      new Request('http://proxy/mcp', {
        method: 'DELETE',
        headers: { authorization: 'Bearer one', 'mcp-session-id': sessionId },
      }),
    );
    await expect.poll(() => cancelled.aborted).toBe(true);
  });
});
