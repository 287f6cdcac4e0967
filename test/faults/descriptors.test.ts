import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

import { COMPILE_CACHE } from '../support/compile-cache.ts';
import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const LIMIT = 256;
const NO_ROOM = {
  message: 'This server cannot accept another connection right now. Please try again shortly.',
  type: 'server_error',
  param: null,
  code: 'out_of_resources',
};

/** Runs a module with few file descriptors, not longer than the test. Resolves to its output and how it ended. */
const runWithFew = async (code: string) => {
  const node = [process.execPath, '--input-type=module', '--no-warnings', '-e', code];
  const child = spawn('sh', ['-c', `ulimit -n ${LIMIT}; exec "$@"`, 'sh', ...node], {
    env: { ...process.env, ...COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const [out, err, exit] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { printed: out.split('\n').filter((line) => line !== ''), err, exit };
};

const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

describe('without file descriptors', () => {
  // With none, no home can be created. With four, there is a home, but no pipes to a process.
  it.each([0, 4])('of which %s are free, the server lives, reports it, and recovers', async (free) => {
    const { printed, err, exit } = await runWithFew(`
      import { closeSync, openSync } from 'node:fs';
      const { startProxy } = await import(${here('../support/proxy.ts')});
      const { hello } = await import(${here('../support/scripts.ts')});
      const { until } = await import(${here('../support/until.ts')});
      const proxy = await startProxy(hello);
      const ask = async () => {
        const headers = { authorization: 'Bearer ' + proxy.key };
        const body = JSON.stringify({ model: 'gpt-5.5', input: 'Say something.' });
        const response = await proxy.app.fetch(new Request('http://localhost/v1/responses', { method: 'POST', headers, body }));
        const { error, status } = await response.json();
        return { status: response.status, result: error ?? status };
      };
      const say = (what) => console.log(JSON.stringify(what));
      say(await ask());
      const taken = [];
      // A worker that dies frees descriptors, so they are taken again, and a worker that could start is killed too.
      const takeAndKill = () => {
        try {
          for (;;) taken.push(openSync('/dev/null'));
        } catch {}
        for (const one of taken.splice(0, ${free})) closeSync(one);
        for (const { pid, state } of proxy.app.workers()) if (state === 'ready') kill(pid);
      };
      // It may be gone although that is not noticed yet.
      const kill = (pid) => {
        try {
          process.kill(pid, 'SIGKILL');
        } catch (error) {
          if (error.code !== 'ESRCH') throw error;
        }
      };
      await until(() => {
        takeAndKill();
        return proxy.log.some(({ msg }) => msg === 'start-failed');
      });
      let refused;
      // Connections of the lost worker that close late leave room for another one.
      await until(async () => {
        takeAndKill();
        refused = await ask();
        return refused.status === 503;
      });
      say(refused);
      for (const one of taken) closeSync(one);
      await until(() => proxy.app.workers().some(({ state }) => state === 'ready'));
      say(await ask());
      await proxy.close();
    `);
    expect({ printed: printed.map((line) => JSON.parse(line) as unknown), err, exit }).toEqual({
      printed: [
        { status: 200, result: 'completed' },
        { status: 503, result: NO_ROOM },
        { status: 200, result: 'completed' },
      ],
      err: '',
      exit: [0, null],
    });
  });
});

describe('more silent connections than file descriptors', () => {
  let room: CommandRoom;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await room.close();
  });

  it('do not keep a lost app-server from being replaced, and other clients get an answer', async () => {
    room = await openCommandRoom();
    const model = await room.startModel({ script: hello });
    const server = room.start(
      ['serve'],
      { PROXY_UPSTREAM_BASE_URL: model.baseUrl, PROXY_API_KEY: 'sk-test' },
      undefined,
      LIMIT,
    );
    await until(() => server.output.err.includes('doctor'));
    const port = Number(/http:\/\/127\.0\.0\.1:(\d+)\/v1/.exec(server.output.err)?.[1]);
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    const before = await ask(port, kept);
    for (let count = 0; count < 400; count += 1) sockets.push(silentTo(port));
    await until(() => sockets.filter((socket) => socket.closed).length >= 400 - LIMIT / 2);
    process.kill(Number(/"pid":(\d+),"msg":"worker-ready"/.exec(server.output.out)?.[1]), 'SIGKILL');
    await until(() => server.output.out.includes('worker-lost'));
    const during = [await ask(port, kept), await ask(port, new Agent())];
    for (const socket of sockets) socket.destroy();
    await until(async () => (await ask(port, new Agent())).status === 200);
    kept.destroy();
    expect({ before, during, isAlive: server.child.exitCode === null }).toEqual({
      before: { status: 200, result: 'completed' },
      // Silent connections are closed for a new one once they are two seconds old.
      during: [
        { status: 200, result: 'completed' },
        during[1]?.status === 200 ? { status: 200, result: 'completed' } : { status: 503, result: NO_ROOM },
      ],
      isAlive: true,
    });
  });
});

const silentTo = (port: number): Socket =>
  connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume();

const ask = async (port: number, agent: Agent) => {
  const headers = { authorization: 'Bearer sk-test', 'content-type': 'application/json' };
  const http = httpRequest({ port, agent, headers, method: 'POST', path: '/v1/responses' });
  http.end(JSON.stringify({ model: 'gpt-5.5', input: 'Say something.' }));
  const [response] = (await once(http, 'response')) as [IncomingMessage];
  const { error, status } = JSON.parse(await text(response)) as Record<string, unknown>;
  return { status: response.statusCode, result: error ?? status };
};
