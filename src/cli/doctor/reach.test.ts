import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, afterAll } from 'vitest';
import { Agent } from 'undici';

import { judgeAnswer, judgeError, type BackendAnswer, judgeProvider, providerCheck } from './reach.ts';
import { runCheck } from './finding.ts';

const HOST = 'chatgpt.com';
const json = { 'content-type': 'application/json' };
const html = { 'content-type': 'text/html; charset=utf-8' };
const withCode = (code: string): Error => Object.assign(new Error('failed'), { code });

describe('judgeAnswer', () => {
  it.each<readonly [string, BackendAnswer, string, string]>([
    [
      'a refusal',
      { status: 401, headers: json, text: '{}' },
      'ok',
      'chatgpt.com answers (401 without a login)',
    ],
    [
      'a challenge',
      {
        status: 403,
        headers: { ...html, 'cf-mitigated': 'challenge' },
        text: '<title>Just a moment...</title>',
      },
      'problem',
      'chatgpt.com answers with a Cloudflare challenge (403)',
    ],
    [
      'a page of the network',
      { status: 200, headers: html, text: '<html><title>\n Hotel wifi </title>' },
      'problem',
      'chatgpt.com answered with a web page (200, "Hotel wifi")',
    ],
    [
      'a page without a title',
      { status: 502, headers: html, text: '' },
      'problem',
      'chatgpt.com answered with a web page (502, "without a title")',
    ],
    [
      'a proxy',
      { status: 407, headers: html, text: '' },
      'problem',
      'the proxy in front of chatgpt.com requires a password',
    ],
    ['trouble', { status: 503, headers: json, text: '' }, 'warning', 'chatgpt.com answers, but with 503'],
  ])('%s', (_, seen, grade, says) => {
    expect(judgeAnswer(HOST, seen)).toMatchObject({
      grade,
      says,
      facts: { host: HOST, status: seen.status },
    });
  });
});

describe('judgeError', () => {
  it.each<readonly [string, unknown, string]>([
    ['DNS', withCode('ENOTFOUND'), 'the host name chatgpt.com cannot be resolved (ENOTFOUND)'],
    [
      'TLS',
      withCode('UNABLE_TO_GET_ISSUER_CERT_LOCALLY'),
      'the certificate of chatgpt.com is not trusted (UNABLE_TO_GET_ISSUER_CERT_LOCALLY)',
    ],
    [
      'a certificate of its own',
      withCode('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'the certificate of chatgpt.com is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    ],
    ['no server', withCode('ECONNREFUSED'), 'no connection to chatgpt.com (ECONNREFUSED)'],
    [
      'no server at any address',
      new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]),
      'no connection to chatgpt.com (ECONNREFUSED)',
    ],
    ['a cause', new Error('failed', { cause: withCode('ETIMEDOUT') }), 'chatgpt.com does not answer in time'],
    ['silence', withCode('UND_ERR_CONNECT_TIMEOUT'), 'chatgpt.com does not answer in time'],
    ['anything', new Error('odd'), 'chatgpt.com cannot be reached (odd)'],
  ])('%s', (_, error, says) => {
    expect(judgeError(HOST, error)).toMatchObject({ grade: 'problem', says });
  });
});

const provider = { name: 'embeddings', baseUrl: 'https://models.example/v1', apiKey: 'sk-embed' };
const providerJson = { 'content-type': 'application/json' };
const seen = (status: number, headers: Record<string, string> = providerJson) => ({
  status,
  headers,
  text: '',
});

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
    outgoing.writeHead(200, providerJson).end('{"data":[]}');
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
