import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { Agent } from 'undici';
import { afterAll, describe, expect, it } from 'vitest';

import { runCheck } from './finding.ts';
import { judgeProvider, providerCheck } from './provider-check.ts';

const provider = { name: 'embeddings', baseUrl: 'https://models.example/v1', apiKey: 'sk-embed' };
const json = { 'content-type': 'application/json' };
const seen = (status: number, headers: Record<string, string> = json) => ({ status, headers, text: '' });

describe('judgeProvider', () => {
  it.each([
    [200, 'ok', 'models.example answers, and accepts the key', null],
    [
      401,
      'problem',
      'models.example rejects the key (401)',
      'set PROXY_EMBEDDINGS_API_KEY to a key of this provider',
    ],
    [
      404,
      'warning',
      'models.example answers, but has no list of models at the base URL (404)',
      'check PROXY_EMBEDDINGS_BASE_URL, which usually ends in /v1',
    ],
    [503, 'warning', 'models.example answers, but with 503', 'the service may have a problem: try later'],
  ])('explains an answer with %i', (status, grade, says, advice) => {
    const facts = { host: 'models.example', status };
    expect(judgeProvider(provider, seen(status))).toEqual({ grade, says, advice, facts });
  });

  it('explains an answer without a key, and a page', () => {
    const keyless = { ...provider, apiKey: null };
    expect(judgeProvider(keyless, seen(200)).says).toBe('models.example answers');
    expect(judgeProvider(keyless, seen(401)).says).toBe('models.example requires a key (401)');
    const page = { 'content-type': 'text/html', 'cf-mitigated': 'challenge' };
    expect(judgeProvider(keyless, seen(403, page)).says).toBe(
      'models.example answered with a web page (403, "without a title")',
    );
  });
});

describe('providerCheck', () => {
  const asked: unknown[] = [];
  const server = createServer(({ method, url, headers }, outgoing) => {
    asked.push([method, url, headers.authorization]);
    outgoing.writeHead(200, json).end('{"data":[]}');
  }).listen(0, '127.0.0.1');
  afterAll(() => server.close());

  it('asks for the models with the key', async () => {
    if (!server.listening) await once(server, 'listening');
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const options = { idleTimeoutMs: 60_000, openDispatcher: async () => new Agent() };
    const check = providerCheck({ ...provider, baseUrl }, options);
    expect([check.name, (await runCheck(check)).grade, asked]).toEqual([
      'embeddings',
      'ok',
      [['GET', '/v1/models', 'Bearer sk-embed']],
    ]);
  });
});
