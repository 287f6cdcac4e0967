import { request as httpRequest } from 'node:http';

import { afterEach, expect, it } from 'vitest';

import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { hello } from '../support/scripts.ts';

/**
 * Bodies that would not fit into the process at once: some wait, some are rejected, and the process survives.
 */

const KEY = 'sk-memory-0123456789';
const MB = 1024 * 1024;

let room: CommandRoom | null = null;
afterEach(() => room?.close());

const post = (url: string, body: Buffer): Promise<string> =>
  new Promise((resolve) => {
    const http = httpRequest(`${url}/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-length': body.length },
    });
    // A rejected client may find the connection closed while it still sends; the answer has still arrived.
    http.on('error', (error) => resolve(error.message));
    http.on('response', (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => (text += chunk.toString()));
      answer.on('error', (error) => resolve(error.message));
      answer.on('end', () => {
        const retryAfter = answer.headers['retry-after'] === undefined ? '' : ', retry-after';
        const code = /"code":"(\w+)"/.exec(text)?.[1] ?? '';
        resolve(text.includes('Hello from') ? 'whole' : `${answer.statusCode} ${code}${retryAfter}`);
      });
    });
    http.end(body);
  });

it('36 large bodies at once do not kill a process that could not hold them', async () => {
  room = await openCommandRoom();
  const model = await room.startModel({ script: hello });
  const { child, output } = room.start([], {
    // 36 bodies of 6 MB, each held five times, as it once was, are 1 GB.
    NODE_OPTIONS: '--max-old-space-size=192',
    PROXY_API_KEY: KEY,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_MAX_BYTES_IN_FLIGHT_MB: '16',
    PROXY_QUEUE_TIMEOUT_MS: '2000',
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(output.err)));
    const look = setInterval(() => {
      const found = /URL\s+(http:\S+)\s/u.exec(output.err)?.[1];
      if (found === undefined) return;
      clearInterval(look);
      resolve(found);
    }, 20);
  });
  const ask = (input: string): Buffer =>
    Buffer.from(JSON.stringify({ model: 'gpt-5.5', input, stream: true }));
  const large = ask('lorem ipsum '.repeat((6 * MB) / 12));
  const ends = await Promise.all(Array.from({ length: 36 }, () => post(url, large)));
  const served = ends.filter((end) => end === 'whole').length;
  expect([...new Set(ends)].toSorted()).toEqual(['503 server_overloaded, retry-after', 'whole']);
  expect(served).toBeGreaterThanOrEqual(2);
  expect(await post(url, ask('hi'))).toBe('whole');
  expect(await post(url, large)).toBe('whole');
  expect([child.exitCode, child.signalCode]).toEqual([null, null]);
});
