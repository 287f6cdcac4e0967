import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { hideKey, readErrorBytes } from './error-body.ts';

describe('hideKey', () => {
  const KEY = 'key+with/signs==0123';

  it.each([
    ['as it is', `invalid: ${KEY}`, 'invalid: ***'],
    ['encoded', `?key=${encodeURIComponent(KEY)}`, '?key=***'],
    ['masked by the provider', 'invalid: sk-proj-****abcd.', 'invalid: sk-***.'],
    ['in a header', '{"got":"Bearer other-key"}', '{"got":"Bearer ***"}'],
    ['not at all', '{"error":{"message":"slow down, é"}}', '{"error":{"message":"slow down, é"}}'],
  ])('hides a key that is quoted %s', (_, text, hidden) => {
    expect(hideKey(KEY)(text)).toBe(hidden);
  });

  it('also works without a key', () => {
    expect(hideKey(null)('Bearer abc')).toBe('Bearer ***');
  });
});

describe('readErrorBytes', () => {
  it('reads a whole error up to its limit', async () => {
    const half = Buffer.alloc(128 * 1024, 'x');
    expect(await readErrorBytes(Readable.from([half, half]))).toEqual(Buffer.concat([half, half]));
    const long = Readable.from([half, half, Buffer.from('x')]);
    expect([await readErrorBytes(long), long.destroyed]).toEqual([null, true]);
  });
});
