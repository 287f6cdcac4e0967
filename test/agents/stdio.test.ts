import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, expect, it } from 'vitest';

import { bundledCommand } from '../support/bundle-command.ts';
import { openCommandRoom } from '../support/command.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { answerQuestions, openTestDoor } from '../support/open-door.ts';
import type { TurnScript } from '../support/scripted-sessions.ts';
import { until } from '../support/until.ts';

const closing: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const openServer = async (script: TurnScript) => {
  const door = openTestDoor(script);
  const listener = await door.listen();
  closing.push(async () => {
    await door.close();
    listener.stop();
    await listener.close();
  });
  return { door, listener };
};

/** A client that starts `codex-app-server-proxy mcp` and talks to it. */
const startClient = async (url: string, onQuestion: (question: string) => string = () => 'decline') => {
  const home = await mkdtemp(path.join(tmpdir(), 'proxy-stdio-'));
  closing.push(() => rm(home, { recursive: true, force: true }));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [await bundledCommand(), 'mcp', '--url', url],
    env: {
      ...COMPILE_CACHE,
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      PROXY_STATE_DIR: path.join(home, 'state'),
      PROXY_API_KEY: 'one',
    },
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  await answerQuestions(client, onQuestion);
  await client.connect(transport);
  closing.push(() => client.close());
  return { client, transport, said: () => said };
};

/** Why a call was rejected. */
const reasonOf = (called: Promise<unknown>): Promise<string> => called.then(() => 'it was answered', String);

const callCodex = { name: 'codex', arguments: { prompt: 'Hi' } };

it('the tools of the server are there, with progress and questions', async () => {
  const isSeen = Promise.withResolvers<void>();
  const { listener } = await openServer(async ({ prompt, run, call, say }) => {
    run('ls');
    // The SDK drops progress that comes together with the result.
    await isSeen.promise;
    const { success } = await call('codex_approval', { name: 'exec_command', arguments: { cmd: 'make' } });
    say(`${prompt}: ${JSON.stringify(success)}`);
  });
  const questions: string[] = [];
  const { client, said } = await startClient(listener.url, (question) => {
    questions.push(question);
    return 'accept';
  });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
    'codex',
    'codex-reply',
    'ask',
    'review',
  ]);
  const progress: unknown[] = [];
  const result = await client.callTool(
    { name: 'codex', arguments: { prompt: 'Hi', 'approval-policy': 'untrusted' } },
    undefined,
    {
      onprogress(one) {
        progress.push(one);
        isSeen.resolve();
      },
    },
  );
  expect(result['structuredContent']).toEqual({ threadId: 'asess_1', content: 'Hi: true' });
  expect([progress[0], questions]).toEqual([{ progress: 1, message: 'ls' }, ['Allow codex to run make?']]);
  await expect(client.callTool({ name: 'nope' })).rejects.toThrow(/-32602/);
  expect(said()).toBe('');
});

it('a cancelled call, and the end of the client, cancel the turn', async () => {
  const running: AbortSignal[] = [];
  const { door, listener } = await openServer(async ({ cancelled }) => {
    running.push(cancelled);
    await new Promise(() => {});
  });
  const { client } = await startClient(listener.url);
  const stop = new AbortController();
  const first = client.callTool(callCodex, undefined, { signal: stop.signal });
  const ended = reasonOf(first);
  await until(() => running.length === 1);
  stop.abort('enough');
  expect(await ended).toContain('enough');
  await until(() => running[0]?.aborted === true);
  client.callTool(callCodex).catch(() => {});
  await until(() => running.length === 2);
  await client.close();
  await until(() => running[1]?.aborted === true);
  // It ends its session, too.
  await until(() => door.log.some(({ method }) => method === 'DELETE'));
});

it('a server that was restarted gets a new session', async () => {
  const { door, listener } = await openServer(({ say }) => say('Done.'));
  const { client } = await startClient(listener.url);
  await client.ping();
  door.forget();
  expect(await client.callTool(callCodex)).toMatchObject({ structuredContent: { content: 'Done.' } });
  expect(door.log.filter(({ status }) => status === 404)).not.toEqual([]);
});

it('a server that goes away during a call is an error of the call', async () => {
  const begun = Promise.withResolvers<void>();
  const { listener } = await openServer(async () => {
    begun.resolve();
    await new Promise(() => {});
  });
  const { client } = await startClient(listener.url);
  const called = reasonOf(client.callTool(callCodex));
  await begun.promise;
  listener.stop();
  await listener.close();
  expect(await called).toMatch(/connection to the server was lost|does not answer/);
  await expect(client.ping()).rejects.toThrow(/does not answer/);
});

it('a line that is not a message gets an error, and standard output has only messages', async () => {
  const { listener } = await openServer(({ say }) => say('Done.'));
  const room = await openCommandRoom();
  closing.push(() => room.close());
  const input = 'nonsense\n\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n{"jsonrpc":"2.0","id":2,"method":"x"}';
  const env = { PROXY_API_KEY: 'one' };
  const { exited, output } = room.start(['mcp', '--url', listener.url], env, undefined, undefined, input);
  expect(await exited).toEqual([0, null]);
  expect(output.err).toBe('');
  expect(
    output.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    {
      jsonrpc: '2.0',
      id: null,
      error: { code: -32700, message: 'Parse error: a line is not a JSON object.' },
    },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: { code: -32601, message: expect.any(String) } },
  ]);
});

it('without a server it ends with a sentence that says how to start one', async () => {
  const room = await openCommandRoom();
  closing.push(() => room.close());
  const { exited, output } = room.start(
    ['mcp'],
    { PORT: '1', PROXY_API_KEY: 'one' },
    undefined,
    undefined,
    '',
  );
  expect(await exited).toEqual([1, null]);
  expect(output).toEqual({
    out: '',
    err: expect.stringMatching(/^No server answers at http:\/\/127\.0\.0\.1:1\. Start it first: .*\n$/),
  });
});
