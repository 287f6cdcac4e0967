import { spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { linkedTransports } from '../support/memory-transport.ts';
import { createStdioTransport } from '../../src/codex/rpc/stdio-transport.ts';
import type { LineTransport } from '../../src/codex/rpc/transport.ts';

/** What a peer relies on, whatever the transport. */

/** Two connected ends. */
type Link = () => readonly [LineTransport, LineTransport];

const IMPLEMENTATIONS: Readonly<Record<string, Link>> = {
  memory: linkedTransports,
  'stdio over pipes': () => {
    const [there, back] = [new PassThrough(), new PassThrough()];
    return [
      createStdioTransport({ stdin: there, stdout: back }),
      createStdioTransport({ stdin: back, stdout: there }),
    ];
  },
};

const heardBy = (transport: LineTransport): unknown[] => {
  const heard: unknown[] = [];
  transport.onMessage((line) => heard.push(line));
  transport.onClose((cause) => heard.push({ closed: cause }));
  return heard;
};

describe.each(Object.entries(IMPLEMENTATIONS))('%s', (_, link) => {
  it('carries lines in both directions, in order', async () => {
    const [left, right] = link();
    const [heardLeft, heardRight] = [heardBy(left), heardBy(right)];
    for (const line of ['one', '{"two":"\\n"}', 'drei 😀']) left.send(line);
    right.send('back');
    await expect.poll(() => [heardLeft, heardRight]).toEqual([['back'], ['one', '{"two":"\\n"}', 'drei 😀']]);
  });

  it('carries a long line whole', async () => {
    const [left, right] = link();
    const heard = heardBy(right);
    const long = 'x'.repeat(3_000_000);
    left.send(long);
    await expect.poll(() => heard.length).toBe(1);
    expect(heard[0]).toBe(long);
  });

  it('notifies both ends once that it was closed, however often it is', async () => {
    const [left, right] = link();
    const [heardLeft, heardRight] = [heardBy(left), heardBy(right)];
    left.close();
    left.close();
    right.close();
    await expect.poll(() => [heardLeft, heardRight]).toEqual([[{ closed: null }], [{ closed: null }]]);
  });

  it('drops what is sent after the end', async () => {
    const [left, right] = link();
    const heard = heardBy(right);
    heardBy(left);
    left.close();
    left.send('too late');
    await expect.poll(() => heard).toEqual([{ closed: null }]);
  });
});

describe('stdio of a real process', () => {
  it('carries lines, and reports when the process has ended', async () => {
    // A program that echoes its input.
    const child = spawn(process.execPath, ['-e', 'process.stdin.pipe(process.stdout)'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const transport = createStdioTransport(child);
    const heard = heardBy(transport);
    transport.send('to and fro');
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['to and fro']);
    child.kill('SIGKILL');
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(['to and fro', { closed: null }]);
  });
});
