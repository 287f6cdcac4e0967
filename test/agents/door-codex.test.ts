import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { answerQuestions } from '../support/open-door.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** The MCP door with the whole server: codex works in a folder, and the model follows a script. */

const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'door-')));
const folder = path.join(root, 'demo');
mkdirSync(folder);
const config = path.join(root, 'config', 'config.json');
mkdirSync(path.dirname(config));
writeFileSync(config, JSON.stringify({ mcpServers: { demo: { workspace: folder } } }));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const proxy = await openProxy(hello, { PROXY_CONFIG: config });

const clients: Client[] = [];
afterAll(async () => {
  for (const client of clients) await client.close();
});

const connect = async (onQuestion: (question: string) => string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: { elicitation: {} } });
  await answerQuestions(client, onQuestion);
  const requestInit = { headers: { authorization: `Bearer ${proxy.key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), { requestInit }));
  clients.push(client);
  return client;
};

/** Runs a command for the last prompt, and then says what it printed. */
const runs =
  (command: (prompt: string) => string): Script =>
  ({ body }, connection) => {
    const items = body['input'] as readonly Readonly<Record<string, unknown>>[];
    const last = items.at(-1);
    const steps = (): readonly ScriptStep[] => {
      if (last?.['type'] === 'function_call_output')
        return [{ text: `Seen: ${JSON.stringify(last['output'])}` }];
      const cmd = command(JSON.stringify(last?.['content'] ?? ''));
      return [{ call: { name: 'exec_command', arguments: { cmd } } }];
    };
    return answer(connection, steps());
  };

const contentOf = (result: object): string =>
  (result as { structuredContent?: { content: string } }).structuredContent?.content ??
  JSON.stringify(result);

const threadIn = (result: object): string =>
  (result as { structuredContent: { threadId: string } }).structuredContent.threadId;

it('codex works in the workspace, and codex-reply goes on', async () => {
  proxy.use(
    runs((prompt) => (prompt.includes('Read') ? 'cat note.txt' : 'echo written > note.txt && echo ok')),
  );
  const client = await connect(() => 'decline');
  const progress: unknown[] = [];
  const first = await client.callTool({ name: 'codex', arguments: { prompt: 'Write the note' } }, undefined, {
    onprogress: (one) => void progress.push(one),
  });
  expect(contentOf(first)).toContain('ok');
  expect(readFileSync(path.join(folder, 'note.txt'), 'utf8')).toBe('written\n');
  expect(progress[0]).toEqual({ progress: 1, message: expect.stringContaining('echo written > note.txt') });
  const second = await client.callTool({
    name: 'codex-reply',
    arguments: { prompt: 'Read the note', threadId: threadIn(first) },
  });
  expect(contentOf(second)).toContain('written');
});

it('a command that the user approves runs, and one that the user declines does not', async () => {
  const questions: string[] = [];
  const client = await connect((question) => {
    questions.push(question);
    return question.includes('yes.txt') ? 'accept' : 'decline';
  });
  const call = async (name: string): Promise<string> => {
    proxy.use(runs(() => `touch ${name} && echo made`));
    const args = { prompt: `Make ${name}`, 'approval-policy': 'untrusted' };
    return contentOf(await client.callTool({ name: 'codex', arguments: args }));
  };
  expect(await call('yes.txt')).toContain('made');
  expect(await call('no.txt')).not.toContain('made');
  expect(questions).toEqual([
    `Allow codex to run touch yes.txt && echo made in ${folder}?`,
    `Allow codex to run touch no.txt && echo made in ${folder}?`,
  ]);
  expect(readFileSync(path.join(folder, 'yes.txt'), 'utf8')).toBe('');
  expect(() => readFileSync(path.join(folder, 'no.txt'))).toThrow(/ENOENT/);
});

it('a cancelled call ends the command', async () => {
  const alive = path.join(folder, 'alive.txt');
  proxy.use(runs(() => 'while true; do date +%s%N > alive.txt; sleep 0.05; done'));
  const client = await connect(() => 'decline');
  const stop = new AbortController();
  const called = client.callTool({ name: 'codex', arguments: { prompt: 'Wait' } }, undefined, {
    signal: stop.signal,
  });
  const reason = called.then(() => 'it was answered', String);
  const content = (): string | null => {
    try {
      return readFileSync(alive, 'utf8');
    } catch {
      return null;
    }
  };
  await until(() => content() !== null);
  stop.abort('enough');
  expect(await reason).toContain('enough');
  const [session] = (await proxy.openai.beta.agents.sessions.list()).data;
  await until(async () => {
    const { status } = await proxy.openai.beta.agents.sessions.retrieve(session?.id ?? '');
    return status === 'idle';
  });
  const last = content();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(content()).toBe(last);
});

it('the sandbox read-only changes nothing', async () => {
  proxy.use(runs(() => 'touch never.txt; echo "status $?"'));
  const client = await connect(() => 'decline');
  const args = { prompt: 'Make a file', sandbox: 'read-only' };
  expect(contentOf(await client.callTool({ name: 'codex', arguments: args }))).toMatch(/status 1/);
  expect(() => readFileSync(path.join(folder, 'never.txt'))).toThrow(/ENOENT/);
});
