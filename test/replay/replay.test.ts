import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { accept, compare } from '../../scripts/replay/compare.ts';
import { play } from '../../scripts/replay/play.ts';
import { readCapture, type TraceRecord } from '../../scripts/replay/read-capture.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { capturedTrace } from '../support/captured-trace.ts';
import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, http429, http400, reasoningThenText, says, toolCall } from '../support/scripts.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const base = await mkdtemp(path.join(tmpdir(), 'captures-'));
afterAll(() => rm(base, { recursive: true, force: true }));
const directory = path.join(base, 'kept');
const proxy = await openProxy(hello, { PROXY_CAPTURE_DIR: directory });

let requests = 0;
const ask = async (
  at: string,
  body: object,
  script: Script,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ file: string; text: string }> => {
  requests += 1;
  const id = `capture-${requests}`;
  proxy.use(script);
  const answer = await proxy.post(at, body, { headers: { ...headers, 'x-request-id': id } });
  const text = await answer.text();
  return { file: await capturedTrace(directory, id), text };
};

const replay = (file: string): Promise<{ code: number; said: string }> =>
  new Promise((resolve) => {
    const options = { cwd: ROOT, env: { ...process.env, ...COMPILE_CACHE } };
    execFile(process.execPath, ['scripts/replay.ts', file], options, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr }),
    );
  });

const weather = { name: 'get_weather', parameters: { type: 'object', properties: { city: {} } } };
const RESPONSES = {
  model: 'gpt-5.5',
  instructions: 'Be brief.',
  input: [
    { role: 'user', content: 'What is the weather in Paris?' },
    { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Rain' },
    { role: 'user', content: 'And tomorrow?' },
  ],
  tools: [{ type: 'function', ...weather }],
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'],
  frobnicate: true,
};
const CHAT = {
  model: 'gpt-5.5',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'What is the weather?' },
  ],
  tools: [{ type: 'function', function: weather }],
  stop: ['42'],
};

const MESSAGES = {
  model: 'gpt-5.5',
  max_tokens: 100,
  system: 'Be brief.',
  messages: [{ role: 'user', content: 'What is the weather?' }],
  tools: [{ name: 'get_weather', input_schema: weather.parameters }],
  thinking: { type: 'adaptive' },
};

const thinksThenCalls = says([
  { reasoning: { summary: ['**Looking**\n\nAt the map.'], encrypted: 'sealed-thoughts' } },
  { text: 'Let me see.' },
  { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_weather' } },
]);

const partsOf = (trace: readonly TraceRecord[], kind: TraceRecord['kind']): number =>
  trace.filter((record) => record.kind === kind).length;

describe('a captured request', () => {
  it.each<[string, string, object, Script, Record<string, string>?]>([
    ['a stream of events', '/v1/responses', { ...RESPONSES, stream: true }, thinksThenCalls],
    ['a response', '/v1/responses', RESPONSES, thinksThenCalls],
    ['a stream of chunks', '/v1/chat/completions', { ...CHAT, stream: true }, thinksThenCalls],
    ['a completion that stops early', '/v1/chat/completions', CHAT, reasoningThenText],
    ['a forced call', '/v1/chat/completions', { ...CHAT, tool_choice: 'required' }, toolCall()],
    ['two choices', '/v1/chat/completions', { ...CHAT, n: 2 }, thinksThenCalls],
    ['a stream of blocks', '/v1/messages', { ...MESSAGES, stream: true }, thinksThenCalls],
    ['a message', '/v1/messages', MESSAGES, thinksThenCalls],
    ['a text', '/v1/completions', { model: 'gpt-5.5', prompt: 'Hello' }, hello],
    ['an error of the backend', '/v1/responses', { ...RESPONSES, stream: true }, http429()],
    ['a refusal', '/v1/responses', RESPONSES, http400()],
    ['an error of the client', '/v1/responses', { ...RESPONSES, temperature: 9 }, hello],
    ['a review', '/v1/codex/reviews', { input: 'a diff', stream: true }, hello],
    ['a request at a path of codex', '/backend-api/codex/responses', { ...RESPONSES, stream: true }, hello],
    [
      'a client that is known by a header',
      '/v1/responses',
      { ...RESPONSES, tools: [], stream: true },
      says([{ text: 'One.' }, { text: 'Two.' }]),
      { 'dangerously-allow-browser': 'true' },
    ],
  ])('of %s replays without a difference', async (_, at, body, script, headers = {}) => {
    const { file, text } = await ask(at, body, script, headers);
    const then = await readCapture(file);
    const now = await play(then);
    expect(compare(then, now)).toEqual([]);
    // The capture has everything that the client received.
    const frames = text.match(/^data: /gm)?.length ?? 0;
    expect([partsOf(then, 'frame'), partsOf(now, 'frame')]).toEqual([frames, frames]);
    expect([partsOf(then, 'answered'), partsOf(now, 'answered')]).toEqual([1, 1]);
  });

  it('that refers to items of an earlier answer replays without a difference', async () => {
    const first = await ask('/v1/responses', RESPONSES, thinksThenCalls);
    const { output } = JSON.parse(first.text) as { output: readonly { id: string }[] };
    const input = [
      ...RESPONSES.input,
      ...output.map(({ id }) => ({ type: 'item_reference', id })),
      { type: 'function_call_output', call_id: 'call_weather', output: 'Sun' },
    ];
    const { file } = await ask('/v1/responses', { ...RESPONSES, input }, hello);
    const then = await readCapture(file);
    const now = await play(then);
    expect(compare(then, now)).toEqual([]);
    expect([partsOf(then, 'referred'), partsOf(now, 'referred')]).toEqual([3, 3]);
    expect(await readFile(file, 'utf8')).not.toContain('sealed-thoughts');
  });

  it('shows which part a translator produces differently today', async () => {
    const { file } = await ask('/v1/responses', { ...RESPONSES, stream: true }, thinksThenCalls);
    const lines = (await readFile(file, 'utf8')).split('\n');
    const altered = lines.map((line) => {
      if (line.includes('"kind":"frame"')) return line.replace('"delta":" me"', '"delta":" you"');
      if (line.includes('"kind":"wire-sent"')) return line.replaceAll('"effort":"low"', '"effort":"high"');
      if (line.includes('"method":"turn/start","params"')) return line.replace('"input":[]', '"input":["x"]');
      return line;
    });
    await writeFile(file, altered.join('\n'));
    const { code, said } = await replay(file);
    expect([code, said]).toEqual([1, expect.stringContaining('3 differences')]);
    expect(said).toContain('call of the app-server 3.params.input[0]\n  - "x"\n  + (nothing)\n');
    expect(said).toContain('model request 1.reasoning.effort\n  - "high"\n  + "low"\n');
    expect(said).toMatch(/frame \d+\.data\.delta\n {2}- " you"\n {2}\+ " me"\n/);
    // The change is accepted: the capture now has today's output.
    const then = await readCapture(file);
    const accepted = accept(then, await play(then));
    expect(compare(accepted, await play(accepted))).toEqual([]);
    expect(compare(then, accepted)).toHaveLength(3);
  });

  it('contains no secret, and only its owner can read it', async () => {
    const token = 'Bearer abcdefghijklmnop';
    const { file } = await ask(
      '/v1/responses',
      {
        ...RESPONSES,
        input: [
          { role: 'user', content: `My key is ${proxy.key}, my header ${token}, both mine.` },
          { type: 'reasoning', summary: [], encrypted_content: 'sealed-before' },
          { role: 'user', content: 'Go on.' },
        ],
      },
      thinksThenCalls,
    );
    const text = await readFile(file, 'utf8');
    for (const secret of [
      proxy.key,
      'abcdefghijklmnop',
      'sealed-thoughts',
      'sealed-before',
      'uthorization"',
    ]) {
      expect(text).not.toContain(secret);
    }
    expect(text).toContain('My key is ***, my header Bearer ***, both mine.');
    expect([(await stat(file)).mode & 0o777, (await stat(directory)).mode & 0o777]).toEqual([0o600, 0o700]);
    const then = await readCapture(file);
    expect(compare(then, await play(then))).toEqual([]);
  });

  it('does not affect requests if it cannot be written', async () => {
    await rm(directory, { recursive: true });
    await writeFile(directory, 'not a directory');
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello' });
    expect(answer.status).toBe(200);
    await expect
      .poll(async () => (await proxy.get('/metrics')).text())
      .toContain('proxy_stories_lost_total{reason="disk"} 1');
    await rm(directory);
  });
});

describe('stored captures', () => {
  const captures = path.join(import.meta.dirname, 'captures');
  it('replay without a difference', async () => {
    const names = (await readdir(captures)).filter((name) => name.endsWith('.jsonl'));
    expect(names.length).toBeGreaterThan(2);
    for (const name of names) {
      const then = await readCapture(path.join(captures, name));
      expect([name, compare(then, await play(then))]).toEqual([name, []]);
    }
  });
});
