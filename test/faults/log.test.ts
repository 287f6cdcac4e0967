import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openCommandRoom, type CommandRoom, type RunningCommand } from '../support/command.ts';

/** Whatever happens to the log, the service continues and stops on request. */

let room: CommandRoom;
const files: number[] = [];
beforeEach(async () => {
  room = await openCommandRoom();
});
afterEach(async () => {
  await room.close();
  for (const file of files.splice(0)) closeSync(file);
});

const open = (name: string, flags: number): number => {
  const file = openSync(name, flags);
  files.push(file);
  return file;
};

/** A pipe that is open at its other end but never read. */
const stoppedPipe = (): number => {
  const name = path.join(room.home, 'fifo');
  execFileSync('mkfifo', [name]);
  return open(name, constants.O_RDWR);
};

const started = async ({ output }: RunningCommand): Promise<string> => {
  await expect.poll(() => output.err, { timeout: 30_000 }).toContain('Problems?');
  return /URL\s+(http:\/\/127\.0\.0\.1:\d+)\/v1/.exec(output.err)?.[1] ?? '';
};

/** Each of them writes a log line; none of them needs a key. */
const unauthorized = async (url: string, count: number): Promise<ReadonlySet<number>> => {
  const statuses = new Set<number>();
  for (let left = count; left > 0; left -= 50) {
    const answers = Array.from({ length: Math.min(left, 50) }, async () => {
      const answer = await fetch(`${url}/v1/responses`, { method: 'POST', body: '{}' });
      await answer.text();
      return answer.status;
    });
    for (const status of await Promise.all(answers)) statuses.add(status);
  }
  return statuses;
};

describe('a log without a reader', () => {
  it.each([
    // A pipe holds 64 KB: some 200 lines.
    ['a reader that stands still', () => stoppedPipe(), 500],
    ['a full disk', () => open('/dev/full', constants.O_WRONLY), 300],
  ])('%s', { timeout: 60_000 }, async (_, stdout, requests) => {
    const server = room.start([], {}, stdout());
    const url = await started(server);
    expect(await unauthorized(url, requests)).toEqual(new Set([401]));
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual([0, null]);
  });

  it('a reader that is gone, also of standard error', { timeout: 60_000 }, async () => {
    const server = room.start([]);
    const url = await started(server);
    server.child.stdout?.destroy();
    server.child.stderr?.destroy();
    expect(await unauthorized(url, 300)).toEqual(new Set([401]));
    const key = /key\s+(\S+)/.exec(server.output.err)?.[1] ?? '';
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    expect(await metrics.text()).toMatch(/^proxy_log_lines_dropped_total [1-9]\d*$/m);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual([0, null]);
  });
});
