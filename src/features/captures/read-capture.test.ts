import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { readCapture } from './capture-dir.ts';

let base = '';
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'read-capture-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

const NAME = '20261117T224500000Z-1-req_1.jsonl';
const write = (lines: readonly (object | string)[]) =>
  writeFile(
    path.join(base, NAME),
    lines
      .map((line) => `${typeof line === 'string' ? line : JSON.stringify({ t: 1.5, ...line })}\n`)
      .join(''),
  );

it('reads both bodies of a capture, also of one that is being written', async () => {
  await write([
    { kind: 'settings', version: '1' },
    { kind: 'asked', method: 'POST', path: '/v1/responses', head: { accept: '*/*' } },
    { kind: 'body', body: { input: 'hi' }, models: {} },
    { kind: 'wire-sent', before: {}, after: { input: ['hi'] } },
    { kind: 'frame', data: { kind: 'body' } },
    '{"t":2,"kind":"wire-sent","after":{"inp',
  ]);
  expect(await readCapture(base, NAME)).toEqual({
    method: 'POST',
    path: '/v1/responses',
    headers: { accept: '*/*' },
    body: { input: 'hi' },
    modelRequests: [{ input: ['hi'] }],
    isPartial: true,
  });
});

it('limits what is read', async () => {
  const sent = Array.from({ length: 10 }, (_, nth) => ({ kind: 'wire-sent', after: { nth } }));
  await write([{ kind: 'body', body: { text: 'x'.repeat(5 * 1024 * 1024) } }, ...sent]);
  expect(await readCapture(base, NAME)).toMatchObject({
    body: null,
    modelRequests: sent.slice(0, 8).map(({ after }) => after),
    isPartial: true,
  });
});

it('reads no other file', async () => {
  await writeFile(path.join(base, 'secret'), '{"t":1,"kind":"body","body":{}}');
  await symlink(path.join(base, 'secret'), path.join(base, NAME));
  expect(
    await Promise.all(
      [NAME, 'secret', '../x', '20261117T224500000Z-2-gone.jsonl'].map((name) => readCapture(base, name)),
    ),
  ).toEqual([null, null, null, null]);
});
