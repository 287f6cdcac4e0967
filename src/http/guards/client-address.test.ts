import { describe, expect, it } from 'vitest';

import { createTrustedProxies, isInRanges, parseRange } from './client-address.ts';

const { clientAddress } = createTrustedProxies(['10.0.0.0/8', '::1']);

const from = (peer: string, headers: Record<string, string>): string =>
  clientAddress(peer, new Headers(headers));

describe('createTrustedProxies', () => {
  it('takes the peer for the client unless it is a trusted proxy', () => {
    const headers = { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' };
    expect(from('203.0.113.7', headers)).toBe('203.0.113.7');
    expect(from('10.0.0.1', {})).toBe('10.0.0.1');
    expect(from('::ffff:10.0.0.1', headers)).toBe('192.0.2.1');
    expect(createTrustedProxies([]).clientAddress('10.0.0.1', new Headers(headers))).toBe('10.0.0.1');
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1, 10.0.0.9', '192.0.2.1'],
    // What the client itself has sent.
    ['198.51.100.1, 192.0.2.1, 10.0.0.9', '192.0.2.1'],
    ['198.51.100.1,192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['10.0.0.7, 10.0.0.8', '10.0.0.7'],
    ['192.0.2.1, unknown', 'unknown'],
    ['', ''],
    [Array.from({ length: 40 }, () => '10.0.0.7').join(', '), ''],
  ])('reads x-forwarded-for: %j', (header, client) => {
    expect(from('10.0.0.1', { 'x-forwarded-for': header })).toBe(client);
  });

  it.each([
    ['for=192.0.2.1', '192.0.2.1'],
    ['for=198.51.100.1, For="192.0.2.1:80";proto=https;by=10.0.0.2, for=10.0.0.9', '192.0.2.1'],
    ['proto=https;for="[2001:db8::1]:4711"', '2001:db8::1'],
    ['for=_hidden', '_hidden'],
    ['proto=https', ''],
  ])('reads forwarded: %j', (header, client) => {
    expect(from('::1', { forwarded: header })).toBe(client);
  });

  it('does not know the client if two headers disagree', () => {
    const forwarded = 'for=192.0.2.1';
    expect(from('10.0.0.1', { forwarded, 'x-forwarded-for': '192.0.2.1' })).toBe('192.0.2.1');
    expect(from('10.0.0.1', { forwarded, 'x-forwarded-for': '192.0.2.2' })).toBe('');
  });
});

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
