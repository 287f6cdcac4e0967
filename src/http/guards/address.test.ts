import { describe, expect, it } from 'vitest';

import { isInRanges, parseRange } from './address.ts';

const within = (address: string, ...ranges: readonly string[]): boolean =>
  isInRanges(
    address,
    ranges.map((range) => parseRange(range)!),
  );

describe('parseRange', () => {
  it.each([
    '',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '127.1',
    '010.0.0.1',
    '0x7f000001',
    'localhost',
    ' 10.0.0.1',
    'fe80::1%eth0/64x',
  ])('refuses %j', (text) => {
    expect(parseRange(text)).toBe(null);
  });
});

describe('isInRanges', () => {
  it('compares the bits of the network', () => {
    expect(within('10.1.2.3', '10.0.0.0/8')).toBe(true);
    expect(within('11.1.2.3', '10.0.0.0/8')).toBe(false);
    expect(within('11.1.2.3', '192.168.0.0/16', '0.0.0.0/0')).toBe(true);
    expect(within('10.1.2.3', '10.255.0.1/8')).toBe(true);
    expect(within('2001:db8::1', '2001:db8::/32')).toBe(true);
    expect(within('2001:db9::1', '2001:db8::/32')).toBe(false);
  });

  it('takes an address without bits for itself', () => {
    expect(within('10.1.2.3', '10.1.2.3')).toBe(true);
    expect(within('10.1.2.4', '10.1.2.3')).toBe(false);
    expect(within('::1', '::1')).toBe(true);
  });

  it('knows an IPv4 address in its IPv6 form, on both sides', () => {
    expect(within('::ffff:10.1.2.3', '10.0.0.0/8')).toBe(true);
    expect(within('::ffff:a01:203', '10.0.0.0/8')).toBe(true);
    expect(within('10.1.2.3', '::ffff:10.0.0.0/104')).toBe(true);
    expect(within('11.1.2.3', '::ffff:10.0.0.0/104')).toBe(false);
    expect(within('10.1.2.3', '::/0')).toBe(false);
  });

  it('ignores the interface of an address, and finds no text in a range', () => {
    expect(within('fe80::1%eth0', 'fe80::/10')).toBe(true);
    for (const text of ['', 'unknown', '_hidden', '10.1', '10.1.2.3:80'])
      expect(within(text, '0.0.0.0/0', '::/0')).toBe(false);
  });

  it('is false without ranges', () => {
    expect(within('10.1.2.3')).toBe(false);
  });
});
