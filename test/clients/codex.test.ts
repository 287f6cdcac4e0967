import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openThread, startAppServer } from '../support/app-server-client.ts';
import { openCodexRoom, openProviderRoom, type CodexRoom, type ExecResult } from '../support/codex-exec.ts';
import { openProxy } from '../support/open-proxy.ts';
import {
  contextLengthExceeded,
  cutMidStream,
  hello,
  http400,
  http429,
  http500,
  inTurn,
  says,
  usageLimit,
} from '../support/scripts.ts';

/** The real codex with us as its provider: what `codex-law.test.ts` does not cover. */
const proxy = await openProxy(byPrompt());
const rooms: CodexRoom[] = [];
afterAll(() => Promise.all(rooms.map((room) => room.close())));

const openRoom = async ({ name = 'proxy', key = proxy.key } = {}): Promise<CodexRoom> => {
  const room = await openProviderRoom({
    baseUrl: `${proxy.url}/v1`,
    key,
    name,
    ofProvider: 'request_max_retries = 0\nstream_max_retries = 1',
  });
  rooms.push(room);
  return room;
};

/** Every test has its own prompt, so all of them may run at once. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  'a wrong value': http400(),
  'too many requests': http429(1),
  'used up': usageLimit(3600),
  'out of order': http500,
  'too long': contextLengthExceeded,
  'cut off': inTurn(cutMidStream, says([{ text: 'Whole again.' }])),
  'a megabyte': says([{ text: 'All of it. '.repeat(100_000), chunkSize: 16_384 }]),
};

/** In codex's words, and in ours if codex leaves it to its provider. */
const ASKS_FOR_SUMMARY = /CONTEXT CHECKPOINT COMPACTION|Write that summary now/;
const summarises = says([{ text: 'A summary of what was said.' }]);

function byPrompt(): Script {
  return (request, connection) => {
    const prompt = JSON.stringify((request.body['input'] as readonly JsonObject[] | undefined) ?? []);
    if (ASKS_FOR_SUMMARY.test(prompt)) return summarises(request, connection);
    const [, script = hello] =
      Object.entries(SCRIPTS).find(([name]) => prompt.includes(`"text":"${name}`)) ?? [];
    return script(request, connection);
  };
}

const errorsOf = ({ err }: ExecResult): readonly string[] => [
  ...new Set(err.split('\n').filter((line) => line.startsWith('ERROR: '))),
];

/** The code blocks of the client guide, in order, with our address in them. */
const blocksOfPage = async (): Promise<readonly string[]> => {
  const page = await readFile(path.resolve(import.meta.dirname, '../../docs/clients/codex.md'), 'utf8');
  return [...page.matchAll(/```(?:toml|json)\n(.*?)```/gs)].map(([, block = '']) =>
    block.replaceAll('http://127.0.0.1:11435', proxy.url).replaceAll('THE KEY OF THIS SERVER', proxy.key),
  );
};

describe.concurrent('the client guide', () => {
  it('shows how to set codex up', async () => {
    const [config = ''] = await blocksOfPage();
    const room = await openCodexRoom(config, { PROXY_API_KEY: proxy.key });
    rooms.push(room);
    expect(await room.exec('Say hello.')).toMatchObject({ code: 0, out: 'Hello from the scripted model.\n' });
  });

  it('shows how to see limits: none, if nothing is metered', async () => {
    const [config = '', _mcp, front = '', login = ''] = await blocksOfPage();
    const room = await openCodexRoom(`${front}${config}`, { PROXY_API_KEY: proxy.key });
    rooms.push(room);
    await writeFile(path.join(room.home, 'auth.json'), login);
    const client = await startAppServer(room);
    expect(await client.call('account/rateLimits/read', {})).toMatchObject({
      rateLimits: { limitId: 'codex', primary: null, secondary: null, planType: 'unknown' },
    });
    await client.close();
  });
});

describe.concurrent('codex exec', () => {
  it.each([
    ['a wrong value', [/^ERROR: \{"error":\{"message":"Invalid value: 'purple'\."/]],
    ['too many requests', [/Reconnecting/, /^ERROR: exceeded retry limit, last status: 429/]],
    ['used up', [/^ERROR: You.ve hit your usage limit\. Try again at /]],
    ['out of order', [/Reconnecting/, /^ERROR: unexpected status 502 Bad Gateway: The upstream at /]],
    ['too long', [/^ERROR: Codex ran out of room in the model's context window/]],
  ])('shows its user what is wrong: %s', async (prompt, expected) => {
    const room = await openRoom();
    const result = await room.exec(prompt);
    expect(result).toMatchObject({ code: 1, out: '' });
    expect(errorsOf(result)).toEqual(expected.map((one) => expect.stringMatching(one)));
  });

  it('shows its user that the key is wrong, without the key itself', async () => {
    const room = await openRoom({ key: 'sk-this-is-the-wrong-one' });
    const result = await room.exec('Hello?');
    expect(result.code).toBe(1);
    expect(errorsOf(result).at(-1)).toMatch(/401 Unauthorized: Incorrect API key provided: /);
    expect(result.err).not.toContain('sk-this-is-the-wrong-one');
  });

  it('retries after a stream was cut off', async () => {
    const room = await openRoom();
    const result = await room.exec('cut off');
    expect(result).toMatchObject({ code: 0, out: 'Whole again.\n' });
    expect(errorsOf(result)).toEqual([expect.stringContaining('Reconnecting')]);
  });

  it('gets an answer of a megabyte', async () => {
    const room = await openRoom();
    const file = path.join(room.work, 'answer.txt');
    expect(await room.exec('a megabyte', '-o', file)).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toBe('All of it. '.repeat(100_000));
  });
});

describe.concurrent('codex app-server', () => {
  it('runs turns, and its thread names the conversation in our log', async () => {
    const client = await startAppServer(await openRoom());
    const { id, say } = await openThread(client);
    const said = client.next('item/agentMessage/delta');
    expect(await say('Hello?')).toBe('completed');
    expect(await said).toMatchObject({ threadId: id });
    await client.close();
    const asked = proxy.model.requests.find(({ body }) => body['prompt_cache_key'] === id);
    expect(asked?.headers).toMatchObject({ 'thread-id': id, 'session-id': id });
    const line = proxy.log.find(({ named }) => (named as JsonObject | null)?.['thread'] === id);
    expect(line).toMatchObject({
      route: '/v1/responses',
      status: 200,
      client: { family: 'codex' },
      named: { thread: id, session: id, subagent: null, originator: 'an_editor' },
    });
  });

  it('hands in a result that no call of the model asked for, as after an approved plan', async () => {
    const client = await startAppServer(await openRoom());
    const { id, run, say } = await openThread(client);
    expect(await say('Hello?')).toBe('completed');
    const toolOutput = { name: 'plan', namespace: 'editor', output: 'The user approved the plan.' };
    expect(await run('turn/start', { input: [], toolOutput })).toBe('completed');
    await client.close();
    const asked = proxy.model.requests.filter(({ body }) => body['prompt_cache_key'] === id);
    const last = (asked.at(-1)?.body['input'] ?? []) as readonly JsonObject[];
    expect(last.filter(({ type }) => type === 'function_call_output')).toEqual([
      { type: 'function_call_output', id: expect.any(String), ...toolOutput },
    ]);
  });

  it.each(['proxy', 'OpenAI'])('compacts a conversation and continues it: provider %s', async (name) => {
    const client = await startAppServer(await openRoom({ name }));
    const { id, run, say } = await openThread(client);
    const ends = [await say('Hello?'), await run('thread/compact/start'), await say('Go on.')];
    expect(ends).toEqual(['completed', 'completed', 'completed']);
    await client.close();
    const asked = proxy.model.requests.filter(({ body }) => body['prompt_cache_key'] === id);
    expect(asked).toHaveLength(3);
    const last = (asked.at(-1)?.body['input'] ?? []) as readonly JsonObject[];
    const carries = last.filter((one) => JSON.stringify(one).includes('A summary of what was said.'));
    expect(carries).toEqual([expect.objectContaining({ type: 'message', role: 'user' })]);
    // The model's earlier text is not sent again.
    expect(JSON.stringify(last)).not.toContain('Hello from the scripted model.');
  });
});
