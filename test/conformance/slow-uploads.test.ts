import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';

import { afterEach, describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

/** Uploads of one key do not block the requests of another key. */

const OTHER = 'sk-other-key-0123456789';
const MB = 1024 * 1024;
const proxy = await openProxy(hello, {
  PROXY_API_KEY: `sk-test-key-0123456789,${OTHER}`,
  PROXY_MAX_BYTES_IN_FLIGHT_MB: '4',
  PROXY_MAX_BODY_BYTES: String(4 * MB),
});

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Upload {
  readonly socket: Socket;
  said: string;
}

/** A body that starts and then stalls. */
const upload = async (headers: string, sent: string): Promise<Upload> => {
  const socket = connect(Number(new URL(proxy.url).port), '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  const one: Upload = { socket, said: '' };
  socket.on('data', (chunk: Buffer) => (one.said += chunk.toString()));
  await once(socket, 'connect');
  const lines = ['POST /v1/responses HTTP/1.1', 'host: proxy.test', `authorization: Bearer ${proxy.key}`];
  socket.write([...lines, headers, '', sent].join('\r\n'));
  return one;
};

const bytesInFlight = async (): Promise<number> => {
  const lines = (await (await proxy.get('/metrics')).text()).split('\n');
  return Number(/ (.*)$/.exec(lines.find((line) => /^\w*bytes_in_flight /.test(line)) ?? '')?.[1]);
};

const ask = (input: string): string => JSON.stringify({ model: 'gpt-5.5', input });
const asOther = async (body: RequestInit['body'], headers: Record<string, string> = {}) => {
  const authorization = `Bearer ${OTHER}`;
  const response = await proxy.post('/v1/responses', null, {
    body: body ?? null,
    headers: { authorization, ...headers },
  });
  return [response.status, ((await response.json()) as { status?: string }).status];
};

describe('stalled uploads of one key', () => {
  it('reserve no memory: another key is served while nine are announced', async () => {
    for (let count = 0; count < 9; count += 1) {
      await upload(`content-length: ${4 * MB}`, `{"input":"${'x'.repeat(70_000)}`);
    }
    await until(async () => (await bytesInFlight()) >= 70_000);
    expect([await asOther(ask('small')), await asOther(ask('x'.repeat(MB)))]).toEqual([
      [200, 'completed'],
      [200, 'completed'],
    ]);
  });

  it('are dropped when they fill the memory: the newest gets an error, and its connection ends', async () => {
    const piece = `${(1.2 * MB).toString(16).split('.', 1)[0]}\r\n${'x'.repeat(Math.floor(1.2 * MB))}\r\n`;
    const uploads: Upload[] = [];
    for (let count = 1; count <= 3; count += 1) {
      uploads.push(await upload('transfer-encoding: chunked', piece));
      await until(async () => (await bytesInFlight()) >= Math.floor(1.2 * MB) * count);
    }
    expect(await asOther(ask('x'.repeat(MB)))).toEqual([200, 'completed']);
    await until(() => uploads[2]?.socket.closed === true);
    const last = uploads[2]?.said ?? '';
    expect([
      /^HTTP\/1\.1 (\d+)/.exec(last)?.[1],
      /retry-after: \d+/i.test(last),
      last.split('\r\n\r\n')[1],
    ]).toEqual([
      '503',
      true,
      JSON.stringify({
        error: {
          message:
            'The requests in progress are too large in total, and this one was rejected in favour of others. Please try again later.',
          type: 'server_error',
          param: null,
          code: 'server_overloaded',
        },
      }),
    ]);
    expect(uploads.slice(0, 2).map(({ said }) => said)).toEqual(['', '']);
    // A compressed body counts by its expanded size, and is treated the same.
    const compressed = gzipSync(ask('x'.repeat(1.5 * MB)));
    expect(await asOther(compressed, { 'content-encoding': 'gzip' })).toEqual([200, 'completed']);
  });
});
