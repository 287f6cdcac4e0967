import { describe, expect, it } from 'vitest';

import { banner, type BackendState, type BannerFacts, aboutServer, shownKey } from './banner.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';

const show = (state: BackendState, different: Partial<BannerFacts> = {}): string =>
  banner({
    url: 'http://127.0.0.1:11435',
    key: { description: 'sk-proxy-1', inCommand: 'sk-proxy-1' },
    state,
    model: null,
    transport: null,
    store: '/state/state.db, kept for 30 days',
    hasConsole: false,
    now: new Date('2026-11-17T12:00:00Z'),
    captureDir: null,
    commands: { login: 'npm run login', doctor: 'npm run doctor' },
    secretSettings: [],
    ...different,
  });

type LoginState = Extract<BackendState, { kind: 'login' }>;
const login = (different: Partial<LoginState>): LoginState => ({
  kind: 'login',
  login: 'chatgpt',
  home: '/h',
  accessToken: null,
  ...different,
});

const STORE = '  store    /state/state.db, kept for 30 days';
const TRY_IT = [
  '  Try it:',
  '    curl http://127.0.0.1:11435/v1/responses -H "Authorization: Bearer sk-proxy-1" \\',
  `      -H "Content-Type: application/json" -d '{"model":"codex-5","input":"Say hello."}'`,
  '',
];
const DOCTOR = ['  Problems? npm run doctor', '', ''];

describe('banner', () => {
  it('names the console if it is served', () => {
    expect(show({ kind: 'demo' }, { hasConsole: true }).split('\n')).toContain(
      '  console  http://127.0.0.1:11435/console (sign in with the key)',
    );
  });

  it.each(['0.0.0.0', '[::]'])('names an address of the console that works, for %s', (host) => {
    const url = `http://${host}:11435`;
    expect(show({ kind: 'demo' }, { hasConsole: true, url }).split('\n')).toContain(
      '  console  http://127.0.0.1:11435/console (sign in with the key)',
    );
  });

  it('warns that captures contain requests', () => {
    expect(show({ kind: 'demo' }, { captureDir: '/var/captures' }).split('\n').slice(0, 3)).toEqual([
      '',
      '  Requests and answers are written to files in /var/captures (PROXY_CAPTURE_DIR).',
      '',
    ]);
  });

  it('shows the default model of a provider or login', () => {
    const given = { model: 'gpt-5.5' };
    expect(show(login({}), given)).toContain('  model    gpt-5.5, also called codex-5\n');
    expect(show({ kind: 'demo' }, given)).not.toContain('gpt-5.5');
  });

  it('shows the backend, the address, the key, and how to sign in', () => {
    expect(show({ kind: 'demo' }).split('\n')).toEqual([
      '',
      '  codex-app-server-proxy',
      '  URL      http://127.0.0.1:11435/v1',
      '  key      sk-proxy-1',
      '  backend  the built-in demo model (no account needed; it is not intelligent)',
      STORE,
      '',
      ...TRY_IT,
      '  Sign in with ChatGPT: npm run login',
      '  Use an existing login: start with CODEX_HOME=~/.codex',
      '  The running server notices the login.',
      '',
      ...DOCTOR,
    ]);
  });

  it.each<readonly [BackendState, string]>([
    [{ kind: 'upstream', baseUrl: 'https://x.example/v1' }, 'the provider at https://x.example/v1'],
    [login({ login: 'chatgpt' }), 'the Codex login (ChatGPT) in /h'],
    [login({ login: 'api-key' }), 'the Codex login (API key) in /h'],
    [
      login({ accessToken: { kind: 'personal', origin: 'file', expiresAt: null } }),
      'the Codex login (ChatGPT access token) in /h',
    ],
    [
      login({ accessToken: { kind: 'agent', origin: 'environment', expiresAt: new Date('2027-01-01') } }),
      'the Codex login (ChatGPT access token) in CODEX_ACCESS_TOKEN',
    ],
  ])('does not offer to sign in: %j', (state, backend) => {
    expect(show(state).split('\n').slice(4)).toEqual([
      `  backend  ${backend}`,
      STORE,
      '',
      ...TRY_IT,
      ...DOCTOR,
    ]);
  });

  it.each([
    ['auto', 'over a WebSocket, or POST if there is none'],
    ['websocket', 'over a WebSocket only: requests fail without one (PROXY_CHATGPT_TRANSPORT=websocket)'],
    ['http', 'by POST (PROXY_CHATGPT_TRANSPORT=http)'],
  ] as const)('shows how a ChatGPT login sends its requests: %s', (transport, text) => {
    expect(show(login({}), { transport }).split('\n')[5]).toBe(`  sends    ${text}`);
    expect(show(login({ login: 'api-key' }), { transport })).not.toContain('  sends ');
  });

  it.each([
    ['2026-11-20T08:30:00Z', 'expires 2026-11-20 08:30 UTC'],
    ['2026-11-17T11:00:00Z', 'expired 2026-11-17 11:00 UTC'],
  ])('warns first about an access token that ends soon: %s', (at, when) => {
    const state = login({ accessToken: { kind: 'agent', origin: 'file', expiresAt: new Date(at) } });
    expect(show(state).split('\n').slice(0, 4)).toEqual([
      '',
      `  The access token ${when} and cannot be renewed here: create a new one and replace it`,
      '',
      '  codex-app-server-proxy',
    ]);
  });

  it('lists the settings that the doctor needs, without values', () => {
    const text = show({ kind: 'demo' }, { secretSettings: ['PROXY_API_KEY', 'PROXY_UPSTREAM_API_KEY'] });
    expect(text).toContain(
      '  Problems? npm run doctor\n    (with PROXY_API_KEY and PROXY_UPSTREAM_API_KEY set as for this server)\n',
    );
  });

  it.each<readonly [boolean, string]>([
    [
      true,
      'CODEX_HOME=/h contains no usable login: requests fail with sign_in_required until you run npm run login',
    ],
    [false, 'Not signed in: requests fail with sign_in_required until you run npm run login'],
  ])('warns first about a missing login; named: %j', (isNamed, first) => {
    const lines = show({ kind: 'signed-out', home: '/h', isNamed }).split('\n');
    expect([lines[1], lines[3], lines[6]]).toEqual([
      `  ${first}`,
      '  codex-app-server-proxy',
      '  backend  none: not signed in',
    ]);
  });
});

describe('aboutServer', () => {
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
  const LOGIN: BackendState = {
    kind: 'login',
    login: 'chatgpt',
    home: '/home/ann/.codex',
    accessToken: null,
  };

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
});
