import { describe, expect, it } from 'vitest';

import { isLocalCaller, isLoopbackAddress, isOnThisMachine } from './local-caller.ts';

const here = { isFromLoopback: true, localAddress: '127.0.0.1:1' };
const elsewhere = { isFromLoopback: false, localAddress: null };
const asked = (headers: Record<string, string>) =>
  isLocalCaller(new Headers({ host: '127.0.0.1:1', ...headers }), here);

describe('isLocalCaller', () => {
  it.each([
    { host: 'localhost' },
    { host: 'LOCALHOST:8080' },
    { host: '127.0.0.1' },
    { host: '127.1.2.3:1' },
    { host: '[::1]:80' },
    { 'user-agent': 'curl', 'sec-fetch-site': 'none' },
  ])('accepts %j', (headers) => {
    expect(asked(headers)).toBe(true);
  });

  it.each([
    { host: '' },
    { host: 'rebound.example' },
    { host: 'localhost.example' },
    { host: '127.0.0.1.example' },
    { host: '127.0.0.1@example' },
    { host: '10.0.0.1' },
    { origin: 'http://localhost' },
    { referer: 'http://localhost/' },
    { forwarded: 'for=10.0.0.1' },
    { via: '1.1 proxy' },
    { 'x-real-ip': '10.0.0.1' },
    { 'cf-connecting-ip': '10.0.0.1' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-whatever': '' },
    { 'sec-fetch-site': 'cross-site' },
  ])('rejects %j', (headers) => {
    expect(asked(headers)).toBe(false);
  });

  it('requires a connection from this machine', () => {
    const headers = new Headers({ host: 'localhost' });
    expect([isLocalCaller(headers, elsewhere), isLocalCaller(headers, undefined)]).toEqual([false, false]);
  });
});

describe('isOnThisMachine', () => {
  it('accepts pages of this server too, but no request from elsewhere', () => {
    const on = (headers: Record<string, string>) =>
      isOnThisMachine(new Headers({ host: '127.0.0.1:1', ...headers }), here);
    expect([
      on({ origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-origin' }),
      on({ origin: 'https://proxy.example', 'x-forwarded-for': '10.0.0.1' }),
      on({ host: 'rebound.example' }),
      isOnThisMachine(new Headers({ host: 'localhost' }), elsewhere),
    ]).toEqual([true, false, false, false]);
  });
});

describe('isLoopbackAddress', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.0.9', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['', false],
    ['10.0.0.1', false],
    ['::ffff:10.0.0.1', false],
    ['1127.0.0.1', false],
  ])('%s: %s', (address, expected) => {
    expect(isLoopbackAddress(address)).toBe(expected);
  });
});
