import { describe, expect, it } from 'vitest';

import { judgeAnswer, judgeError, type Seen } from './reach.ts';

const HOST = 'chatgpt.com';
const json = { 'content-type': 'application/json' };
const html = { 'content-type': 'text/html; charset=utf-8' };
const withCode = (code: string): Error => Object.assign(new Error('failed'), { code });

describe('judgeAnswer', () => {
  it.each<readonly [string, Seen, string, string]>([
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
