import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';

import { directLogin, type BackendTarget } from '../codex/home/backend.ts';
import { placeLogged } from '../../test/support/placed-relay.ts';
import type { PlacedRelay } from './relay.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return (server.address() as AddressInfo).port;
};

const place = async (
  backend: BackendTarget,
  settings: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = {},
): ReturnType<typeof placeLogged> => {
  const placed = await placeLogged(backend, 'warn', { settings, environment });
  closers.push(() => placed.close());
  return placed;
};

const provider = (baseUrl: string): BackendTarget => ({
  kind: 'upstream',
  baseUrl,
  apiKeyEnv: 'PROXY_UPSTREAM_API_KEY',
});
const ask = async ({ relay }: PlacedRelay): Promise<readonly [number, string]> => {
  const response = await fetch(`${relay?.addresses.model ?? ''}/models`);
  return [response.status, await response.text()];
};

describe('placeRelay', () => {
  it('places no relay if off or without a backend', async () => {
    const backend = provider('http://127.0.0.1:1/v1');
    expect(await place(backend, { PROXY_WIRE: 'off' })).toMatchObject({ relay: null, backend });
    expect(await place({ kind: 'none' })).toMatchObject({ relay: null, backend: { kind: 'none' } });
  });

  it('serves a provider, a login or the demo, and keeps the key of the provider', async () => {
    const one = await place(provider('http://127.0.0.1:1/v1'));
    expect(one.backend).toEqual({ kind: 'upstream', baseUrl: one.relay?.addresses.model, apiKeyEnv: null });
    const apiKey = await place(directLogin('api-key'));
    expect(apiKey.backend).toEqual({ ...directLogin('api-key'), baseUrl: apiKey.relay?.addresses.model });
    const chatgpt = await place(directLogin('chatgpt'));
    const { model, account, refresh, revoke } = chatgpt.relay?.addresses ?? {};
    expect(chatgpt.backend).toEqual({
      ...directLogin('chatgpt'),
      baseUrl: model,
      chatgptBaseUrl: account,
      refreshUrl: refresh,
      revokeUrl: revoke,
    });
    const token = await place(directLogin('chatgpt', 'personal'));
    expect(token.backend).toMatchObject({
      accessToken: 'personal',
      authApiUrl: token.relay?.addresses.authApi,
    });
    // Even then, so that codex does not wait for settings before each turn.
    const direct = await place(directLogin('chatgpt'), { PROXY_WIRE: 'off' });
    expect(direct).toMatchObject({
      relay: null,
      backend: {
        ...directLogin('chatgpt'),
        baseUrl: 'https://chatgpt.com/backend-api/codex',
        chatgptBaseUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]+\/backend-api$/),
        // Workers share one token renewal there.
        refreshUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]+\/refresh$/),
        revokeUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]+\/revoke$/),
      },
    });
    const demo = await place({ kind: 'demo', baseUrl: 'http://127.0.0.1:1/v1' });
    expect(demo.backend).toEqual({ kind: 'demo', baseUrl: demo.relay?.addresses.model });
  });
});

describe('PROXY_UPSTREAM_PARAMS', () => {
  it('is rejected without parameter names', async () => {
    const one = await place(provider('http://127.0.0.1:1/v1'), {
      PROXY_UPSTREAM_PARAMS: 'top_p,temperatur,none',
    });
    expect(one.log.map((line): unknown => JSON.parse(line))).toMatchObject([{ unknown: ['temperatur'] }]);
    const other = await place(provider('http://127.0.0.1:1/v1'), { PROXY_UPSTREAM_PARAMS: 'all' });
    expect(other.log).toEqual([]);
  });
});

describe('the way to the backend', () => {
  /** A proxy as companies have them: it sends what is plain on by itself, and tunnels what is encrypted. */
  const openProxy = async (backendPort: number): Promise<{ url: string; asked: string[] }> => {
    const asked: string[] = [];
    const proxy = createServer((incoming, response) => {
      asked.push(`${incoming.method ?? ''} ${incoming.url ?? ''}`);
      const { pathname } = new URL(incoming.url ?? '');
      const onward = request({ port: backendPort, path: pathname, headers: incoming.headers }, (answer) => {
        answer.pipe(response);
      });
      onward.end();
    });
    proxy.on('connect', (incoming, socket) => {
      asked.push(`CONNECT ${incoming.url ?? ''}`);
      const onward = connect(backendPort, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    return { url: `http://127.0.0.1:${await listen(proxy)}`, asked };
  };

  it('uses the proxy of the environment, but not for loopback', async () => {
    const direct: string[] = [];
    const backend = createServer((incoming, response) => {
      direct.push(incoming.headers.host ?? '');
      response.end('hello');
    });
    const backendPort = await listen(backend);
    const { url, asked } = await openProxy(backendPort);
    for (const environment of [{ HTTP_PROXY: url }, { http_proxy: url, NO_PROXY: 'other.example' }]) {
      expect(await ask(await place(provider('http://backend.example/v1'), {}, environment))).toEqual([
        200,
        'hello',
      ]);
    }
    expect(asked).toEqual(Array.from({ length: 2 }, () => 'GET http://backend.example/v1/models'));
    expect(
      await ask(await place(provider(`http://127.0.0.1:${backendPort}/v1`), {}, { HTTP_PROXY: url })),
    ).toEqual([200, 'hello']);
    const past = { HTTP_PROXY: url, NO_PROXY: 'backend.invalid' };
    const [status] = await ask(await place(provider('http://backend.invalid/v1'), {}, past));
    expect(status).toBe(502);
    expect(asked).toHaveLength(2);
    expect(direct).toEqual(['backend.example', 'backend.example', `127.0.0.1:${backendPort}`]);
  });

  it('is a tunnel through the proxy if it is encrypted', async () => {
    const server = createTlsServer({ key: KEY, cert: CERTIFICATE }, (_, response) => {
      response.end('hello');
    });
    const { url, asked } = await openProxy(await listen(server));
    const trusted = { SSL_CERT_FILE: await certificateFile() };
    for (const environment of [{ HTTPS_PROXY: url }, { HTTP_PROXY: url }]) {
      const placed = await place(provider('https://backend.example/v1'), {}, { ...trusted, ...environment });
      expect(await ask(placed)).toEqual([200, 'hello']);
    }
    const untrusted = await place(provider('https://backend.example/v1'), {}, { HTTPS_PROXY: url });
    expect((await ask(untrusted))[0]).toBe(502);
    expect(new Set(asked)).toEqual(new Set(['CONNECT backend.example:443']));
  });

  it('trusts the same certificates as codex', async () => {
    const server = createTlsServer(
      { key: KEY, cert: CERTIFICATE },
      (_, response) => void response.end('hello'),
    );
    const target = provider(`https://localhost:${await listen(server)}/v1`);
    const file = await certificateFile();
    expect((await ask(await place(target)))[0]).toBe(502);
    expect(await ask(await place(target, {}, { SSL_CERT_FILE: file }))).toEqual([200, 'hello']);
    expect(await ask(await place(target, {}, { CODEX_CA_CERTIFICATE: file }))).toEqual([200, 'hello']);
    await expect(place(target, {}, { SSL_CERT_FILE: `${file}.none` })).rejects.toThrow('ENOENT');
  });
});

const certificateFile = async (): Promise<string> => {
  const directory = await mkdtemp(path.join(tmpdir(), 'place-relay-'));
  closers.push(() => rm(directory, { recursive: true }));
  const file = path.join(directory, 'ca.pem');
  await writeFile(file, CERTIFICATE);
  return file;
};

/** Made for this test; valid for a hundred years. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBsDCCAVWgAwIBAgIUL6P5fiOtJT79q6k2ONubWxMVC+UwCgYIKoZIzj0EAwIw
FTETMBEGA1UEAwwKcmVsYXkgdGVzdDAgFw0yNjExMTgwNzM2MTdaGA8yMTI2MTAy
NTA3MzYxN1owFTETMBEGA1UEAwwKcmVsYXkgdGVzdDBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABA022BwdvRuOSXudrgFUsz7wOc8tV4T+CzCIBx5DX0hWF3GreFjG
WxCXeyE37FdVBD5OUOa+sdvnZjEutnPXNiejgYAwfjAdBgNVHQ4EFgQU9pr6CKkD
pFddBp1hRSOw3724ZL4wHwYDVR0jBBgwFoAU9pr6CKkDpFddBp1hRSOw3724ZL4w
DwYDVR0TAQH/BAUwAwEB/zArBgNVHREEJDAihwR/AAABgglsb2NhbGhvc3SCD2Jh
Y2tlbmQuZXhhbXBsZTAKBggqhkjOPQQDAgNJADBGAiEAx+LuNTYoUhuePmKUh1iW
OlZ6sAxf6xnx8gQubBPbh+ECIQDeNeEDya477EZtJmDvYCyJZ3CQAWehrScVANZx
XKnNZA==
-----END CERTIFICATE-----
`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgP+AwE++NQWmimMq+
kfDnF2ktEqGvYBJaVf5KnDRPyJOhRANCAAQNNtgcHb0bjkl7na4BVLM+8DnPLVeE
/gswiAceQ19IVhdxq3hYxlsQl3shN+xXVQQ+TlDmvrHb52YxLrZz1zYn
-----END PRIVATE KEY-----
`;
