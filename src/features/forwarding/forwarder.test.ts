import { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { hideKey, readErrorBytes, toClient, toProvider } from './forwarder.ts';

describe('toProvider', () => {
  it('passes what describes the request, and adds the key', () => {
    const describing = {
      accept: 'application/json',
      'accept-language': 'de',
      'content-type': 'multipart/form-data; boundary=x',
      'content-length': '7',
      'content-encoding': 'gzip',
      'user-agent': 'OpenAI/JS 6',
      'idempotency-key': 'once',
      'openai-beta': 'a=b',
      traceparent: '00-1-2-01',
      tracestate: 'a=1',
      'x-client-request-id': '7',
      'x-stainless-retry-count': '0',
    };
    const ours = {
      host: 'proxy.test',
      connection: 'close, x-stainless-os',
      'x-stainless-os': 'Linux',
      'transfer-encoding': 'chunked',
      expect: '100-continue',
      'accept-encoding': 'gzip, br',
      authorization: 'Bearer sk-caller',
      'proxy-authorization': 'Basic x',
      'x-api-key': 'sk-caller',
      'api-key': 'sk-caller',
      cookie: 'a=b',
      origin: 'http://page.test',
      referer: 'http://page.test/',
      'openai-organization': 'org-caller',
      'openai-project': 'proj-caller',
      'x-forwarded-for': '192.0.2.1',
      'x-request-id': 'req_1',
      'cf-connecting-ip': '192.0.2.1',
    };
    expect(toProvider({ ...describing, ...ours }, 'sk-provider')).toEqual({
      ...describing,
      'accept-encoding': 'identity',
      authorization: 'Bearer sk-provider',
    });
  });

  it('sends no key to a provider without one', () => {
    expect(toProvider({ authorization: 'Bearer sk-caller' }, null)).toEqual({
      'accept-encoding': 'identity',
    });
  });
});

describe('toClient', () => {
  it('passes what describes the answer, without secrets', () => {
    const describing = {
      'content-type': 'application/json',
      'content-length': '7',
      'content-encoding': 'gzip',
      'content-disposition': 'attachment',
      'cache-control': 'no-cache',
      'retry-after': '1',
      'retry-after-ms': '900',
      'x-should-retry': 'false',
      'x-ratelimit-remaining-requests': '59',
      'ratelimit-reset': '3',
      'openai-processing-ms': '12',
      'openai-model': 'whisper-1',
    };
    const theirs = {
      connection: 'keep-alive, openai-version',
      'openai-version': '2020-10-01',
      'keep-alive': 'timeout=5',
      'transfer-encoding': 'chunked',
      'set-cookie': ['a=b'],
      'www-authenticate': 'Basic',
      'access-control-allow-origin': '*',
      'content-security-policy': 'sandbox',
      'strict-transport-security': 'max-age=1',
      'alt-svc': 'h3=":443"',
      'x-accel-redirect': '/private',
      'x-proxy-ignored-params': 'input',
      location: 'http://elsewhere.test/',
      server: 'nginx',
    };
    const ids = { 'x-request-id': 'req-of-sk-provider' };
    const hide = (text: string): string => text.replace('sk-provider', '***');
    expect(toClient({ ...describing, ...theirs, ...ids }, hide)).toEqual({
      ...describing,
      'x-upstream-request-id': 'req-of-***',
    });
  });
});

describe('hideKey', () => {
  const KEY = 'key+with/signs==0123';

  it.each([
    ['as it is', `invalid: ${KEY}`, 'invalid: ***'],
    ['encoded', `?key=${encodeURIComponent(KEY)}`, '?key=***'],
    ['masked by the provider', 'invalid: sk-proj-****abcd.', 'invalid: sk-***.'],
    ['in a header', '{"got":"Bearer other-key"}', '{"got":"Bearer ***"}'],
    ['not at all', '{"error":{"message":"slow down, é"}}', '{"error":{"message":"slow down, é"}}'],
  ])('hides a key that is quoted %s', (_, text, hidden) => {
    expect(hideKey(KEY)(text)).toBe(hidden);
  });

  it('also works without a key', () => {
    expect(hideKey(null)('Bearer abc')).toBe('Bearer ***');
  });
});

describe('readErrorBytes', () => {
  it('reads a whole error up to its limit', async () => {
    const half = Buffer.alloc(128 * 1024, 'x');
    expect(await readErrorBytes(Readable.from([half, half]))).toEqual(Buffer.concat([half, half]));
    const long = Readable.from([half, half, Buffer.from('x')]);
    expect([await readErrorBytes(long), long.destroyed]).toEqual([null, true]);
  });
});
