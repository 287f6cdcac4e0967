import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatewayError } from '../canonical/failure/failure.ts';
import { createSeal, type Place, type Seal } from './seal.ts';

const KEYS = [
  '0a'.repeat(32),
  Buffer.alloc(32, 11).toString('base64'),
  Buffer.alloc(32, 12).toString('base64url'),
];
const place: Place = { column: 'turns.body', row: 'seg/1', owner: 'alice' };
const plain = createSeal([]);
const sealed = createSeal(KEYS.slice(0, 1));

const problemOf = (seal: Seal, where: Place, stored: unknown): unknown => {
  try {
    return { opened: seal.open(where, stored) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { kind, status, message } = error.failure;
    return { kind, status, message };
  }
};

const corrupt = (why: string): unknown => ({
  kind: 'store_corrupt',
  status: 500,
  message: `The stored row seg/1 (turns.body) cannot be read: ${why}.`,
});

const anyText = fc.oneof(
  fc.json(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('\0', '\uD800', 'a') }),
);

describe.each([
  ['plain', plain],
  ['sealed', sealed],
])('a %s text', (_, seal) => {
  it('is the same when it is opened, and can be stored anywhere', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const stored = seal.close(place, text);
        expect([stored.includes('\0'), stored.isWellFormed()]).toEqual([false, true]);
        expect(seal.open(place, stored)).toBe(text);
      }),
    );
  });

  it('of megabytes is the same when it is opened', () => {
    const text = '𠮷\0'.repeat(1_000_000);
    expect(seal.open(place, seal.close(place, text)) === text).toBe(true);
  });

  it('is not opened at another place', () => {
    const stored = seal.close(place, '{"a":1}');
    for (const different of [{ column: 'responses.body' }, { row: 'seg/2' }, { owner: 'bob' }]) {
      const there = { ...place, ...different };
      expect(problemOf(seal, there, stored)).toMatchObject({ kind: 'store_corrupt' });
    }
  });

  it('is not opened after any change', () => {
    const stored = seal.close(place, '{"a":[1,2,3]}');
    fc.assert(
      fc.property(fc.nat(stored.length - 1), fc.constantFrom('', 'x', 'AAAA'), (at, piece) => {
        const changed = stored.slice(0, at) + piece + stored.slice(at + 1);
        fc.pre(changed !== stored);
        // Two texts of base64 may mean the same bytes.
        const opened = problemOf(seal, place, changed);
        expect([{ opened: '{"a":[1,2,3]}' }, { kind: 'store_corrupt' }]).toContainEqual(
          'opened' in Object(opened) ? opened : { kind: (opened as { kind: string }).kind },
        );
      }),
    );
  });

  it.each([null, undefined, 7, '', 'j', 'e', 'e12345678', 'x'.repeat(40), new Uint8Array(3)])(
    'is not %j',
    (stored) => {
      expect(problemOf(seal, place, stored)).toMatchObject({ kind: 'store_corrupt', status: 500 });
    },
  );
});

describe('the keys', () => {
  it('are read as hexadecimal digits and in both alphabets of base64', () => {
    const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 250 + index));
    const forms = (['hex', 'base64', 'base64url'] as const).map((form) => createSeal([bytes.toString(form)]));
    const stored = forms[0]!.close(place, 'x');
    expect(forms.map((seal) => seal.open(place, stored))).toEqual(['x', 'x', 'x']);
    expect(() => createSeal(['0a'])).toThrow('32 bytes');
  });

  it('can be rotated: the first one seals, all of them open', () => {
    const old = createSeal([KEYS[1]!]);
    const rotated = createSeal([KEYS[0]!, KEYS[1]!]);
    const before = old.close(place, 'old');
    const after = rotated.close(place, 'new');
    expect([rotated.open(place, before), rotated.open(place, after)]).toEqual(['old', 'new']);
    expect(sealed.open(place, after)).toBe('new');
    expect(problemOf(sealed, place, before)).toEqual(corrupt('its key is not in PROXY_STORE_KEY'));
    expect(rotated.open(place, plain.close(place, 'plain'))).toBe('plain');
    expect(problemOf(plain, place, after)).toEqual(corrupt('its key is not in PROXY_STORE_KEY'));
  });

  it('give what is closed twice two forms', () => {
    expect(sealed.close(place, 'x')).not.toBe(sealed.close(place, 'x'));
  });

  it('make digests that earlier keys can be asked for', () => {
    const rotated = createSeal([KEYS[2]!, KEYS[0]!]);
    const all = rotated.digests('pair');
    expect(all[0]).toBe(rotated.digest('pair'));
    expect(all).toEqual([rotated.digest('pair'), sealed.digest('pair'), plain.digest('pair')]);
    expect(new Set(all).size).toBe(3);
    expect(plain.digests('pair')).toEqual([plain.digest('pair')]);
    expect(sealed.digest('other')).not.toBe(sealed.digest('pair'));
  });
});
