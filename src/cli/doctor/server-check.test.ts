import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterEach, expect, it } from 'vitest';

import { runCheck } from './finding.ts';
import { serverCheck } from './server-check.ts';

let server: Server | null = null;
afterEach(() => {
  server?.close();
  server = null;
});

const portOf = async (body: unknown): Promise<number> => {
  server = createServer((_request, response) => response.end(JSON.stringify(body)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

it.each<readonly [string, unknown, string, RegExp]>([
  ['ready', { status: 'ready', backend: { state: 'ok' } }, 'ok', /^running at http/],
  ['starting', { status: 'not ready' }, 'warning', /is not ready$/],
  [
    'in trouble',
    { status: 'not ready', backend: { state: 'failing', reason: 'blocked' } },
    'warning',
    /reports that its backend is blocked$/,
  ],
  ['someone else', { hello: 'world' }, 'warning', /^another program answers/],
])('%s', async (_, body, grade, says) => {
  const port = await portOf(body);
  expect(await runCheck(serverCheck({ host: '0.0.0.0', port }))).toMatchObject({
    grade,
    says: expect.stringMatching(says),
  });
});

it('passes if none is running', async () => {
  const port = await portOf({});
  server?.close();
  await once(server as Server, 'close');
  expect(await runCheck(serverCheck({ host: '127.0.0.1', port }))).toMatchObject({
    grade: 'ok',
    says: `no server is running at http://127.0.0.1:${port}`,
  });
});
