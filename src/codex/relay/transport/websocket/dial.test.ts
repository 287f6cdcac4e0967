import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';

import { serverFrame } from '../../../../../test/support/frames.ts';
import { until } from '../../../../../test/support/until.ts';
import { createDial, readDeflate } from './dial.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const acceptOf = (request: IncomingMessage): string =>
  createHash('sha1')
    .update(`${String(request.headers['sec-websocket-key'])}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');

/** Dials a server that answers an upgrade with these headers, and with these bytes at once. */
const dialled = async (
  answer: (request: IncomingMessage) => Record<string, string>,
  bytes: Uint8Array = Buffer.alloc(0),
) => {
  const outcomes: string[] = [];
  const heard: string[] = [];
  const asked: string[][] = [];
  const server = createServer();
  server.on('upgrade', (request: IncomingMessage, connection: Socket) => {
    asked.push(request.rawHeaders);
    connection.on('error', () => {});
    const lines = Object.entries(answer(request)).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.write(Buffer.concat([Buffer.from(`HTTP/1.1 101 x\r\n${lines.join('')}\r\n`), bytes]));
    closers.push(() => connection.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  const dial = createDial({
    clock: { now: () => 0 },
    cookies: null,
    trust: {},
    proxies: { noProxy: '' },
    onDial: (outcome) => outcomes.push(outcome),
  });
  const listener = {
    onText: (data: Buffer) => heard.push(data.toString('utf8')),
    onPing() {},
    onClose() {},
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/responses?a=b`;
  const socket = await dial(url, { 'x-of': 'codex' }, listener, new AbortController().signal).catch(
    () => null,
  );
  if (socket !== null) closers.push(() => socket.close());
  return { outcome: outcomes.join(), heard, asked };
};

const UPGRADED = { connection: 'Upgrade', upgrade: 'websocket' };
const good = (request: IncomingMessage): Record<string, string> => ({
  ...UPGRADED,
  'sec-websocket-accept': acceptOf(request),
});

describe('an upgrade', () => {
  it('asks for what codex asks for', async () => {
    const { asked, outcome } = await dialled(good);
    const [headers = []] = asked;
    const isValue = (index: number): boolean => index % 2 === 1;
    const unchanging = headers.map((text, index) =>
      isValue(index) && /^(?:Sec-WebSocket-Key|Host)$/.test(headers[index - 1] ?? '') ? '' : text,
    );
    expect([outcome, unchanging]).toEqual([
      '101',
      [
        ['x-of', 'codex', 'Sec-WebSocket-Version', '13', 'Sec-WebSocket-Key', ''],
        ['Connection', 'Upgrade', 'Upgrade', 'websocket'],
        ['Sec-WebSocket-Extensions', 'permessage-deflate; client_max_window_bits', 'Host', ''],
      ].flat(),
    ]);
  });

  it('passes on a message that comes with the answer', async () => {
    const { heard } = await dialled(good, serverFrame(1, '{"early":true}'));
    await until(() => heard.length > 0);
    expect(heard).toEqual(['{"early":true}']);
  });

  it.each<[string, (request: IncomingMessage) => Record<string, string>]>([
    ['to another protocol', (request) => ({ ...good(request), upgrade: 'h2c' })],
    ['for another request', () => ({ ...UPGRADED, 'sec-websocket-accept': 'x' })],
    ['with a subprotocol', (request) => ({ ...good(request), 'sec-websocket-protocol': 'chat' })],
    ['with an extension', (request) => ({ ...good(request), 'sec-websocket-extensions': 'x-webkit' })],
  ])('fails if it is answered %s', async (_, answer) => {
    expect((await dialled(answer)).outcome).toBe('protocol');
  });
});

describe('readDeflate', () => {
  it.each([
    [undefined, null],
    ['permessage-deflate', { keepsWindow: true, windowBits: 15 }],
    [
      'permessage-deflate; server_no_context_takeover;client_max_window_bits=10; server_max_window_bits="12"',
      { keepsWindow: false, windowBits: 10 },
    ],
    ['permessage-deflate; client_no_context_takeover', { keepsWindow: true, windowBits: 15 }],
  ])('reads %s', (extensions, expected) => {
    expect(readDeflate(extensions)).toEqual(expected);
  });

  it.each([
    'permessage-deflate, permessage-deflate',
    'permessage-deflate; client_max_window_bits',
    'permessage-deflate; server_max_window_bits=16',
    'permessage-deflate; server_no_context_takeover=1',
    'permessage-deflate; other',
    'permessage-deflate; server_max_window_bits=9; server_max_window_bits=9',
    '',
  ])('refuses %s', (extensions) => {
    expect(() => readDeflate(extensions)).toThrow('extension');
  });
});
