import { describe, expect, it } from 'vitest';

import { isOwnPage, isSafeAddress } from './own-page.ts';

describe('isSafeAddress', () => {
  it.each([
    { host: 'localhost:11435' },
    { host: '127.0.0.1' },
    { host: '[::1]:80' },
    { host: 'console.example', 'x-forwarded-proto': 'https' },
    { host: 'console.example', 'x-forwarded-proto': 'HTTPS, http' },
    { host: 'console.example', forwarded: 'for=10.0.0.1;proto=https;by=10.0.0.2' },
  ])('accepts %j', (headers) => {
    expect(isSafeAddress(new Headers(headers), 'on')).toBe(true);
  });

  it.each<Record<string, string>>([
    {},
    { host: '192.168.0.7:11435' },
    { host: 'rebound.example' },
    { host: 'localhost.example' },
    { host: 'console.example', 'x-forwarded-proto': 'http, https' },
    { host: 'console.example', forwarded: 'proto=http, proto=https' },
  ])('rejects %j, unless the operator allows plain HTTP', (headers) => {
    const both = (['on', 'insecure'] as const).map((mode) => isSafeAddress(new Headers(headers), mode));
    expect(both).toEqual([false, true]);
  });
});

describe('isOwnPage', () => {
  it.each([
    { 'sec-fetch-site': 'same-origin' },
    { origin: 'http://127.0.0.1:1' },
    { origin: 'https://127.0.0.1:1', 'x-forwarded-proto': 'https' },
    { 'x-console-request': '1' },
    // A reverse proxy that changes the host: the browser knows better.
    { 'sec-fetch-site': 'same-origin', origin: 'https://console.example' },
  ])('accepts %j', (headers) => {
    expect(isOwnPage(new Headers({ host: '127.0.0.1:1', ...headers }))).toBe(true);
  });

  it.each<Record<string, string>>([
    {},
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-site', 'x-console-request': '1' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:1' },
    { origin: 'http://127.0.0.1:2', 'x-console-request': '1' },
    { origin: 'https://127.0.0.1:1' },
    { origin: 'null' },
    // A page of a name that was rebound to this machine, which claims HTTPS.
    { host: 'rebound.example', origin: 'http://rebound.example', 'x-forwarded-proto': 'https' },
  ])('rejects %j', (headers) => {
    expect(isOwnPage(new Headers({ host: '127.0.0.1:1', ...headers }))).toBe(false);
  });
});
