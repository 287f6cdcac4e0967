import { expect, it } from 'vitest';

import { proxyFor, proxySettings } from './outbound.ts';

const BOTH = { HTTP_PROXY: 'http://plain:1', HTTPS_PROXY: 'http://secure:2' };
const proxyOf = (url: string, environment: Readonly<Record<string, string>>): string | null =>
  proxyFor(new URL(url), proxySettings(environment));

it('uses the proxy for the scheme', () => {
  expect(proxyOf('wss://chatgpt.com/x', BOTH)).toBe('http://secure:2');
  expect(proxyOf('https://chatgpt.com/x', BOTH)).toBe('http://secure:2');
  expect(proxyOf('ws://example.org/x', BOTH)).toBe('http://plain:1');
  expect(proxyOf('wss://chatgpt.com/x', { HTTP_PROXY: 'http://plain:1' })).toBe('http://plain:1');
  expect(proxyOf('ws://example.org/x', { HTTPS_PROXY: 'http://secure:2' })).toBe(null);
  expect(proxyOf('wss://chatgpt.com/x', {})).toBe(null);
});

it('prefers the lower-case names, as other programs do', () => {
  expect(proxyOf('wss://chatgpt.com/x', { ...BOTH, https_proxy: 'http://lower:3' })).toBe('http://lower:3');
});

it('exempts the hosts of NO_PROXY and this machine', () => {
  const direct = (url: string, NO_PROXY: string): boolean => proxyOf(url, { ...BOTH, NO_PROXY }) === null;
  expect(direct('wss://chatgpt.com/x', 'example.org, chatgpt.com')).toBe(true);
  expect(direct('wss://api.chatgpt.com/x', '.chatgpt.com')).toBe(true);
  expect(direct('wss://api.chatgpt.com/x', '*.chatgpt.com')).toBe(true);
  expect(direct('wss://chatgpt.com/x', '*')).toBe(true);
  expect(direct('wss://chatgpt.com/x', 'chatgpt.com:443')).toBe(true);
  expect(direct('wss://chatgpt.com/x', 'chatgpt.com:8443')).toBe(false);
  expect(direct('wss://notchatgpt.com/x', 'chatgpt.com')).toBe(false);
  expect(direct('wss://chatgpt.com/x', '')).toBe(false);
  expect(direct('ws://127.0.0.1:9/x', '')).toBe(true);
  expect(direct('ws://localhost:9/x', '')).toBe(true);
});
