import { once } from 'node:events';
import { chown, mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { beginStream } from '../support/begin-stream.ts';
import { openCommandRoom, type CommandRoom, type RunningCommand } from '../support/command.ts';
import { hangMidStream, slow } from '../support/scripts.ts';
import { eventsOf, readSse } from '../support/sse.ts';
import { collect } from '../support/turn-events.ts';

/** The server as a user starts and stops it. */

const ASK = { model: 'gpt-5.5', input: 'hi', stream: true };

let room: CommandRoom;
beforeEach(async () => {
  room = await openCommandRoom();
});
afterEach(() => room.close());

/** Waits for the banner and parses it. */
const started = async ({
  output,
}: RunningCommand): Promise<{ readonly url: string; readonly key: string }> => {
  await expect.poll(() => output.err, { timeout: 30_000 }).toContain('Problems?');
  return {
    url: /URL\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/.exec(output.err)?.[1] ?? '',
    key: /key\s+(\S+)/.exec(output.err)?.[1] ?? '',
  };
};

const post = (
  { url, key }: { readonly url: string; readonly key: string },
  body: unknown,
): Promise<Response> =>
  fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });

const messagesOf = ({ output }: RunningCommand): readonly string[] =>
  output.out
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);

describe('start', () => {
  it('prints its address and backend; SIGTERM lets the stream finish and exits with 0', async () => {
    const model = await room.startModel({ script: slow(100), keepRequests: 5 });
    const server = room.start([], { PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    const at = await started(server);
    expect(server.output.err).toContain(`backend  the provider at ${model.baseUrl}`);
    expect(server.output.err).toContain(`curl ${at.url}/v1/responses -H "Authorization: Bearer ${at.key}"`);
    expect(server.output.err).not.toMatch(/sign in with ChatGPT/i);

    const { rest } = await beginStream(await post(at, ASK));
    server.child.kill('SIGTERM');
    const events = eventsOf(await collect(readSse(await rest)));
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'one two three four five' }] }] },
    });
    expect(await server.exited).toEqual([0, null]);

    // Standard output has only log lines, and none contains the key.
    expect(messagesOf(server)).toEqual(expect.arrayContaining(['stopping', 'request']));
    expect(server.output.out).not.toContain(at.key);
  });

  it('stops cleanly when npm, which started it, gets SIGTERM', async () => {
    const model = await room.startModel({ script: slow(100), keepRequests: 5 });
    const npm = room.startByNpm('start', { PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    const at = await started(npm);
    const { rest } = await beginStream(await post(at, ASK));
    npm.child.kill('SIGTERM');
    const events = eventsOf(await collect(readSse(await rest)));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
    // npm's standard output stays open until the server has ended.
    await npm.exited;
    expect(messagesOf(npm)).toEqual(expect.arrayContaining(['stopping', 'request']));
    await expect(fetch(`${at.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('shows a generated key once; later only the file that contains it', async () => {
    const first = room.start([]);
    const at = await started(first);
    first.child.kill('SIGTERM');
    await first.exited;
    const second = room.start([]);
    await started(second);
    const file = path.join(room.stateDir, 'api-key');
    expect(first.output.err).toContain(`key      ${at.key} (shown this once; kept in ${file})\n`);
    expect(await readFile(file, 'utf8')).toBe(`${at.key}\n`);
    expect(second.output.err).toContain(`key      in the file ${file}\n`);
    expect(second.output.err).toContain(`"Authorization: Bearer $(cat ${file})"`);
    expect(second.output.err + second.output.out).not.toContain(at.key);
  });

  it('answers with the demo model without configuration, and explains how to sign in', async () => {
    const server = room.start(['serve']);
    const at = await started(server);
    expect(server.output.err).toMatch(
      /^starting codex app-server for its backend: the built-in demo model .+ …\n/m,
    );
    expect(server.output.err).toMatch(/Sign in with ChatGPT: PROXY_STATE_DIR=\S+ npm .*run login\n/);
    const answer = await post(at, { model: 'codex-5', input: 'Say hello.' });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'completed' }]);
    const readiness = await fetch(`${at.url}/readyz?backend`);
    expect([readiness.status, await readiness.json()]).toMatchObject([
      200,
      { status: 'ready', backend: { state: 'ok' } },
    ]);
    server.child.kill('SIGINT');
    expect(await server.exited).toEqual([0, null]);
    // No request was open, so the log does not mention waiting.
    expect(server.output.err).not.toContain('Stopping');
  });

  it('reports first that CODEX_HOME has no login, and never uses the demo model then', async () => {
    const home = path.join(room.home, 'named');
    await mkdir(home);
    const server = room.start([], { CODEX_HOME: home });
    const at = await started(server);
    // A start that takes some seconds writes lines about its progress.
    const lines = server.output.err.trimStart().split('\n');
    const first = lines.find((line) => !/ … [\d.]+ s$/.test(line));
    expect(first).toContain(`CODEX_HOME=${home} contains no usable login`);
    expect(first).toContain('run login');
    const answer = await post(at, { model: 'codex-5', input: 'Say hello.' });
    expect(await answer.json()).toMatchObject({ error: { code: 'sign_in_required' } });
    expect(await readdir(home)).toEqual([]);
  });
});

describe('a start that fails', () => {
  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    [
      'a setting',
      { PROXY_DEMO: 'perhaps' },
      'The configuration is not valid:\n  PROXY_DEMO: "perhaps" is not allowed; allowed is true, false, 1 or 0.\n',
    ],
    [
      'a CODEX_HOME',
      { CODEX_HOME: '/nowhere/codex' },
      'CODEX_HOME=/nowhere/codex is not a folder: correct the path, or unset CODEX_HOME.\n',
    ],
  ])('prints the reason in one line: %s', async (_, env, err) => {
    const server = room.start([], env);
    expect(await server.exited).toEqual([1, null]);
    expect(server.output).toEqual({ out: '', err });
  });

  it.runIf(process.getuid?.() === 0)(
    'names a folder that belongs to another user',
    { meta: { needs: 'files of another user: root' } },
    async () => {
      await mkdir(path.join(room.stateDir, 'codex'), { recursive: true });
      await chown(path.join(room.stateDir, 'codex'), 12_345, 12_345);
      const server = room.start([]);
      expect(await server.exited).toEqual([1, null]);
      expect(server.output.err).toMatch(
        /^\S+\/codex belongs to user 12345, and this server runs as user 0: .*\n$/,
      );
      expect(await readdir(room.stateDir)).toEqual(['codex']);
    },
  );

  it('names the port that is in use, before it starts anything', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const server = room.start([], { PORT: String(port) });
    expect(await server.exited).toEqual([1, null]);
    expect(server.output).toEqual({
      out: '',
      err: `Port ${port} on 127.0.0.1 is in use, perhaps by another instance of this server: stop it, or set PORT to another port.\n`,
    });
    expect(await readdir(room.home)).toEqual([]);
    other.close();
  });
});

describe('Ctrl-C', () => {
  it('prints what it waits for; a second one ends at once', async () => {
    const model = await room.startModel({ script: hangMidStream, keepRequests: 5 });
    const server = room.start([], { PROXY_UPSTREAM_BASE_URL: model.baseUrl });
    const { rest } = await beginStream(await post(await started(server), ASK));
    rest.catch(() => {});
    server.child.kill('SIGINT');
    await expect
      .poll(() => server.output.err)
      .toContain(
        'Stopping: 1 answer is in progress and may take 30 s to finish. Press Ctrl-C again to stop immediately.',
      );
    // A repeated signal of the first Ctrl-C does not count as the second one.
    await expect
      .poll(
        () => {
          server.child.kill('SIGINT');
          return messagesOf(server);
        },
        { interval: 100 },
      )
      .toContain('stopping immediately');
    expect(await server.exited).toEqual([1, null]);
  });
});
