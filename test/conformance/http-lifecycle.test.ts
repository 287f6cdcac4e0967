import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, describe, expect, it } from 'vitest';

import { startModelServer, type ModelServer } from '../../src/demo/model-server.ts';
import { startProxy } from '../support/proxy.ts';
import { hangMidStream, slow } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

/** Start and end of the server: nothing that runs is lost, nothing new is taken. */

const ASK = { model: 'gpt-5.5', input: 'hi', stream: true };

/** Reads a stream to its first delta; the rest comes later. */
const begin = async (answer: Response): Promise<{ readonly rest: Promise<string> }> => {
  const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('response.output_text.delta')) {
    const step = await reader.read();
    if (step.done) throw new Error(`the stream ended early: ${text}`);
    text += step.value;
  }
  const readOn = async (): Promise<string> => {
    for (;;) {
      const step = await reader.read();
      if (step.done) return text;
      text += step.value;
    }
  };
  return { rest: readOn() };
};

const lastEventOf = async (text: string): Promise<unknown> => eventsOf(await collect(readSse(text))).at(-1);

describe('stop', () => {
  it('lets a running answer finish and refuses a new request', async () => {
    const proxy = await startProxy(slow(60));
    const { rest } = await begin(await proxy.post('/v1/responses', ASK));
    const stopped = proxy.app.stop(10_000);
    const refused = await proxy.post('/v1/responses', ASK);
    expect([refused.status, refused.headers.get('retry-after'), await refused.json()]).toEqual([
      503,
      '5',
      {
        error: {
          message: 'The server is shutting down.',
          type: 'server_error',
          param: null,
          code: 'shutting_down',
        },
      },
    ]);
    expect((await proxy.get('/healthz')).status).toBe(200);
    expect((await proxy.get('/readyz')).status).toBe(503);
    expect(await lastEventOf(await rest)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'one two three four five' }] }] },
    });
    await stopped;
    await proxy.close();
  });

  it('ends an answer that takes too long, with an error that says why', async () => {
    const proxy = await startProxy(hangMidStream);
    const { rest } = await begin(await proxy.post('/v1/responses', ASK));
    await proxy.app.stop(50);
    expect(await lastEventOf(await rest)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { message: 'The server is shutting down.' } },
    });
    expect(await proxy.model.requests.at(-1)?.ended).toBe('aborted');
    await proxy.close();
  });
});

describe('node src/main.ts', () => {
  let child: ChildProcess | null = null;
  let model: ModelServer | null = null;
  let stateDir: string | null = null;
  afterEach(async () => {
    if (child?.exitCode === null) child.kill('SIGKILL');
    await model?.close();
    if (stateDir !== null) await rm(stateDir, { recursive: true, force: true });
    child = null;
    model = null;
    stateDir = null;
  });

  const run = async (env: Record<string, string>) => {
    stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-main-'));
    const main = spawn(process.execPath, [path.resolve(import.meta.dirname, '../../src/main.ts')], {
      env: {
        PATH: process.env['PATH'],
        HOME: stateDir,
        PORT: '0',
        PROXY_STATE_DIR: path.join(stateDir, 'state'),
        PROXY_CODEX_WORKDIR: path.join(stateDir, 'work'),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = main;
    const output = { out: '', err: '' };
    main.stdout.on('data', (chunk: Buffer) => (output.out += chunk.toString()));
    main.stderr.on('data', (chunk: Buffer) => (output.err += chunk.toString()));
    const exited = once(main, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    return { main, output, exited };
  };

  it('says where it is and what answers; SIGTERM lets the stream finish and exits with 0', async () => {
    model = await startModelServer({ script: slow(100), keepRequests: 5 });
    const { main, output, exited } = await run({ PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    await expect.poll(() => output.err, { timeout: 30_000 }).toContain('Say hello.');
    const url = /URL\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/.exec(output.err)?.[1];
    const key = /key\s+(\S+)/.exec(output.err)?.[1];
    expect(output.err).toContain(`backend  the provider at ${model.baseUrl}`);
    expect(output.err).toContain(`curl ${url}/v1/responses -H "Authorization: Bearer ${key}"`);

    const answer = await fetch(`${url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(ASK),
    });
    const { rest } = await begin(answer);
    main.kill('SIGTERM');
    expect(await lastEventOf(await rest)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'one two three four five' }] }] },
    });
    expect(await exited).toEqual([0, null]);

    // Standard output is nothing but log lines, and the key is in none of them.
    const lines = output.out.trim().split('\n');
    const messages = lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    expect(messages).toEqual(expect.arrayContaining(['stopping', 'request']));
    expect(output.out).not.toContain(key);
  });

  it('answers with the demo model where nothing is configured', async () => {
    const { main, output, exited } = await run({});
    await expect.poll(() => output.err, { timeout: 30_000 }).toContain('Say hello.');
    expect(output.err).toContain('the built-in demo model');
    const url = /URL\s+(\S+)/.exec(output.err)?.[1];
    const key = /key\s+(\S+)/.exec(output.err)?.[1];
    const answer = await fetch(`${url}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: 'codex-5', input: 'Say hello.' }),
    });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'completed' }]);
    main.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
  });

  it('does not start with a setting that is not allowed, and says which', async () => {
    const { output, exited } = await run({ PROXY_DEMO: 'perhaps' });
    expect(await exited).toEqual([1, null]);
    expect(output).toEqual({ out: '', err: expect.stringContaining('PROXY_DEMO: "perhaps" is not allowed') });
  });
});
