import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { cleaner } from './redacted.ts';
import { CaptureDir } from './capture-dir.ts';
import { CaptureFile } from './capture-file.ts';
import { openCapture } from './capture.ts';

let base = '';
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'captures-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const linesOf = async (directory: string): Promise<unknown[]> => {
  const [name = ''] = await readdir(directory);
  const text = await readFile(path.join(directory, name), 'utf8');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
};

describe('openCapture', () => {
  const clock = { time: 0, now: () => clock.time };
  const open = (lost: unknown[] = [], isAlways = true) =>
    openCapture({
      directory: path.join(base, 'kept'),
      isAlways,
      clock,
      onOrder() {},
      secrets: ['hunter-22'],
      settings: { version: '1' },
      onLost: (reason, requestId) => lost.push([reason, requestId]),
    });

  it('writes a capture as lines, in a private directory and file', async () => {
    const captures = await open();
    const trace = captures.open('req:1/..', 'key_1');
    trace?.record('asked', { path: '/v1/x', body: 'hunter-22' });
    await trace?.end({ isAborted: false });
    const directory = path.join(base, 'kept');
    const [name = ''] = await readdir(directory);
    expect(name).toMatch(/^\d{8}T\d{9}Z-1-req_1_\.\.\.jsonl$/);
    expect((await stat(path.join(directory, name))).mode & 0o777).toBe(0o600);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
    const t = expect.any(Number);
    expect(await linesOf(directory)).toEqual([
      { t, kind: 'settings', version: '1' },
      { t, kind: 'asked', path: '/v1/x', body: '***' },
      { t, kind: 'end', isAborted: false },
    ]);
  });

  it('limits concurrent captures', async () => {
    const lost: unknown[] = [];
    const captures = await open(lost);
    const all = Array.from({ length: 65 }, (_, at) => captures.open(`r${at}`, 'key_1'));
    expect([all.filter((one) => one !== null).length, lost]).toEqual([64, [['crowded', 'r64']]]);
    await Promise.all(all.flatMap((one) => one?.end({}) ?? []));
    const again = captures.open('again', 'key_1');
    expect(again).not.toBeNull();
    await again?.end({});
  });

  it('captures only the next requests of an order, for an hour at most', async () => {
    const captures = await open([], false);
    const isCaptured = async (keyId: string): Promise<boolean> => {
      const trace = captures.open('r', keyId);
      await trace?.end({});
      return trace !== null;
    };
    const modes = [captures.status().mode, await isCaptured('key_1')];
    await captures.order({ keyId: 'key_1', requests: 2 });
    expect([...modes, captures.status().mode]).toEqual(['off', false, 'next']);
    const seen = [];
    for (const key of ['key_2', 'key_1', 'key_1', 'key_1']) seen.push(await isCaptured(key));
    expect([seen, captures.status().mode]).toEqual([[false, true, true, false], 'off']);
    await captures.order({ keyId: null, requests: 5 });
    expect(await isCaptured('key_2')).toBe(true);
    expect(captures.status().order).toEqual({ keyId: null, requests: 4, expiresAt: 3_600_000 });
    clock.time = 3_600_000;
    expect([await isCaptured('key_2'), captures.status().order]).toEqual([false, null]);
    await captures.order({ keyId: null, requests: 5 });
    captures.cancel();
    expect(await isCaptured('key_2')).toBe(false);
  });

  it('needs no order if all requests are captured', async () => {
    const captures = await open();
    await captures.order({ keyId: 'key_1', requests: 1 });
    expect(captures.status()).toMatchObject({ mode: 'all', order: null });
  });

  it('explains why a path cannot be used as a directory', async () => {
    await writeFile(path.join(base, 'kept'), '');
    await expect(open()).rejects.toThrow('PROXY_CAPTURE_DIR=');
  });
});

describe('CaptureFile', () => {
  const fileOn = async (
    different: Partial<ConstructorParameters<typeof CaptureFile>[0]>,
    lost: unknown[] = [],
  ) =>
    new CaptureFile({
      captureFolder: await CaptureDir.open(base),
      clean: cleaner([]),
      name: 'r.jsonl',
      now: () => 0,
      weigh: () => true,
      onLost: (reason) => lost.push(reason),
      ...different,
    });

  it('marks where it was truncated', async () => {
    const trace = await fileOn({ maxBytes: 100 });
    trace.record('asked', { text: 'x'.repeat(50) });
    trace.record('body', { text: 'x'.repeat(50) });
    trace.record('frame', {});
    await trace.end({});
    expect(await linesOf(base)).toEqual([
      { t: 0, kind: 'asked', text: 'x'.repeat(50) },
      { t: 0, kind: 'cut', at: 'body', maxBytes: 100 },
    ]);
  });

  it('ends when the buffer is full, and releases its share', async () => {
    const lost: unknown[] = [];
    let held = 0;
    const trace = await fileOn(
      {
        weigh(bytes) {
          if (held + bytes > 3 * 1024) return false;
          held += bytes;
          return true;
        },
      },
      lost,
    );
    for (const n of [1, 2, 3, 4, 5]) trace.record('frame', { n });
    await trace.end({});
    expect([lost, held]).toEqual([['slow'], 0]);
  });

  it('ends when the disk fails', async () => {
    const lost: unknown[] = [];
    const trace = await fileOn({}, lost);
    await rm(base, { recursive: true });
    trace.record('frame', {});
    await trace.end({});
    expect(lost).toEqual(['disk']);
  });
});

describe('CaptureDir', () => {
  const write = (name: string, chars: number) => writeFile(path.join(base, name), 'x'.repeat(chars));

  it('keeps the newest captures and all other files', async () => {
    await write('19700101T000000001Z-1-a.jsonl', 10);
    await write('19700101T000000002Z-1-b.jsonl', 10);
    await write('notes.jsonl', 1_000);
    const captureFolder = await CaptureDir.open(base, { captures: 2, bytes: 100 });
    const made = captureFolder.nameFor(new Date(3), 'c');
    await (await captureFolder.create(made)).close();
    await captureFolder.settle(made, 5);
    expect((await readdir(base)).toSorted()).toEqual([
      '19700101T000000002Z-1-b.jsonl',
      '19700101T000000003Z-1-c.jsonl',
      'notes.jsonl',
    ]);
    const large = captureFolder.nameFor(new Date(4), 'd');
    await (await captureFolder.create(large)).close();
    await captureFolder.settle(large, 99);
    expect((await readdir(base)).toSorted()).toEqual(['19700101T000000004Z-2-d.jsonl', 'notes.jsonl']);
  });
});
