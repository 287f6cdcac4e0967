import { expect, it } from 'vitest';

import { aboutServer, shownKey } from './about-server.ts';
import type { BackendState } from './banner.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';

const NEW: OwnKey = { key: 'sk-proxy-1', file: '/home/ann lee/state/api-key', isNew: true };

it.each([
  ['configured keys', null, 'linux', { description: 'one of PROXY_API_KEY', inCommand: '<key>' }],
  [
    'a new key',
    NEW,
    'linux',
    {
      description: 'sk-proxy-1 (shown this once; kept in /home/ann lee/state/api-key)',
      inCommand: 'sk-proxy-1',
    },
  ],
  [
    'a key from an earlier start',
    { ...NEW, isNew: false },
    'linux',
    {
      description: 'in the file /home/ann lee/state/api-key',
      inCommand: "$(cat '/home/ann lee/state/api-key')",
    },
  ],
  [
    'the same on Windows',
    { ...NEW, file: String.raw`C:\state\api-key`, isNew: false },
    'win32',
    {
      description: String.raw`in the file C:\state\api-key`,
      inCommand: String.raw`$(Get-Content 'C:\state\api-key')`,
    },
  ],
])('shows %s', (_, own, platform, expected) => {
  expect(shownKey(own, platform)).toEqual(expected);
});

const PROVIDER: BackendState = { kind: 'upstream', baseUrl: 'https://internal.example/v1' };
const LOGIN: BackendState = { kind: 'login', login: 'chatgpt', home: '/home/ann/.codex', accessToken: null };

it.each<readonly [string, BackendState, OwnKey | null, boolean, ReturnType<typeof aboutServer>]>([
  [
    'its paths to people on this machine, but never the key',
    LOGIN,
    { ...NEW, file: '/state/api-key' },
    true,
    {
      backend: 'the Codex login (ChatGPT) in /home/ann/.codex',
      key: 'in the file /state/api-key',
      keyInCommand: '$(cat /state/api-key)',
    },
  ],
  [
    'no path to others',
    LOGIN,
    NEW,
    false,
    {
      backend: 'a Codex login (ChatGPT)',
      key: 'ask the operator of this server: in the file api-key of its state directory',
      keyInCommand: '<key>',
    },
  ],
  [
    'no address to others',
    PROVIDER,
    null,
    false,
    {
      backend: 'a provider',
      key: 'ask the operator of this server: one of PROXY_API_KEY',
      keyInCommand: '<key>',
    },
  ],
])('the page shows %s', (_, state, own, isLocal, expected) => {
  expect(aboutServer(state, own, isLocal)).toEqual(expected);
});
