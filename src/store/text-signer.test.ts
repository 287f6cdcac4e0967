import { describe, expect, it } from 'vitest';

import { keyBytes, TextSigner } from './text-signer.ts';

const [one, other] = ['0a', '0b'].map((byte) => keyBytes(byte.repeat(32))) as [Uint8Array, Uint8Array];

describe('TextSigner', () => {
  it('opens what it signed, and nothing else', () => {
    const signer = new TextSigner([one]);
    const signature = signer.sign('{"a":"é😀"}');
    expect(signature).toMatch(/^cap1\.[\w-]+\.[\w-]{43}$/);
    expect(signer.open(signature)).toBe('{"a":"é😀"}');
    expect(new TextSigner([other]).open(signature)).toBe(null);
    for (const [at, char] of signature.split('').entries()) {
      const changed = signature.slice(0, at) + (char === 'A' ? 'B' : 'A') + signature.slice(at + 1);
      expect([at, signer.open(changed)]).toEqual([at, null]);
    }
    for (const foreign of [
      '',
      'cap1.',
      'cap1..',
      `cap1..${'A'.repeat(43)}`,
      signature.slice(0, -1),
      `${signature}=`,
    ])
      expect([foreign, signer.open(foreign)]).toEqual([foreign, null]);
  });

  it('signs with the first key and accepts all', () => {
    const signer = new TextSigner([one]);
    const before = signer.sign('x');
    signer.use([other, one]);
    expect(signer.open(before)).toBe('x');
    expect(new TextSigner([other]).open(signer.sign('y'))).toBe('y');
  });
});
