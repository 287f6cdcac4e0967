import { describe, expect, it } from 'vitest';

import { failure } from '../../../canonical/failure/failure.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { httpFailure, sourceOf, streamFailure, type Source } from './http-failure.ts';

/** 2026-11-20 14:00 UTC */
const NOW = 1_795_183_200;
const source: Source = { host: 'api.example', nowMs: NOW * 1000, secrets: ['k3y-of-0urs'] };
const http = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  httpFailure({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }, source);
const stream = (event: JsonObject) => streamFailure(event, source);

const limit = failure('insufficient_quota', {
  message:
    'The backend refused: the account that this server uses has reached its limit, until 2026-11-20 16:00 UTC. It said: Used up.',
  retryAfterSeconds: 7200,
});

describe('an HTTP error of a backend', () => {
  it('is classified by status, body and headers', () => {
    const error = { message: 'Words.', param: 'input', code: 'own_code' };
    expect(http(400, { error })).toEqual(failure('invalid_prompt', error));
    expect(http(429, { error: { message: 'Slow.' } }, { 'retry-after': '7' })).toEqual(
      failure('rate_limit_exceeded', { message: 'Slow.', retryAfterSeconds: 7 }),
    );
    expect(http(500, 'oops')).toEqual(
      failure('upstream_error', {
        message: 'The upstream at api.example had an error while processing the request (it answered 500).',
      }),
    );
  });

  it('names the reset time of a plan, whichever field has it', () => {
    const error = { type: 'usage_limit_reached', message: 'Used up.' };
    expect(http(429, { error: { ...error, resets_in_seconds: 7200 } }, { 'retry-after': '5' })).toEqual(
      limit,
    );
    expect(http(429, { error: { ...error, resets_at: NOW + 7200 } })).toEqual(limit);
  });

  it('is recognised as a Cloudflare page by its text or header', () => {
    const page = '<!DOCTYPE html><html><head><title>x</title></head></html>';
    expect(http(403, page, { 'cf-mitigated': 'challenge' })).toEqual(failure('upstream_blocked'));
    expect(http(403, page)).toEqual(failure('upstream_forbidden'));
    expect(http(503, page.replace('>x<', '>Just a moment...<'))).toEqual(failure('upstream_blocked'));
  });

  it('quotes nothing that we sent', () => {
    const message = 'No account a-c-c-1 with tok-of-theirs or k3y-of-0urs.';
    const headers = { authorization: 'Bearer tok-of-theirs', 'chatgpt-account-id': 'a-c-c-1' };
    const from = sourceOf({ target: 'https://u:p@api.example/v1', headers, apiKey: 'k3y-of-0urs' }, 0);
    expect(from.host).toBe('api.example');
    const body = JSON.stringify({ error: { message } });
    expect(httpFailure({ status: 403, headers: {}, body }, from).message).toBe(
      'No account *** with *** or ***.',
    );
    expect(streamFailure({ type: 'error', message }, from).message).toBe('No account *** with *** or ***.');
  });
});

describe('an error in a stream', () => {
  it('is read at any nesting', () => {
    const error = { code: 'invalid_prompt', message: 'No.' };
    const expected = failure('invalid_prompt', error);
    expect(stream({ type: 'response.failed', response: { error } })).toEqual(expected);
    expect(stream({ type: 'error', error })).toEqual(expected);
    expect(stream({ type: 'error', ...error, param: null })).toEqual(expected);
    expect(stream({ type: 'error' })).toEqual(failure('upstream_error'));
    expect(stream({ type: 'response.failed', response: { error: null } })).toEqual(failure('upstream_error'));
  });

  it('may be a used-up plan, by code or by type', () => {
    const resets = { message: 'Used up.', resets_at: NOW + 7200 };
    for (const error of [
      { code: 'usage_limit_reached', ...resets },
      { type: 'usage_limit_reached', ...resets },
    ]) {
      expect(stream({ type: 'response.failed', response: { error } })).toEqual(limit);
      expect(stream({ type: 'error', status: 429, error })).toEqual(limit);
    }
  });

  it('may carry its status', () => {
    expect(stream({ type: 'error', status_code: 503, error: { message: 'x' } })).toEqual(
      failure('upstream_overloaded'),
    );
    expect(stream({ type: 'error', status: 'failed', error: { code: 'slow_down' } })).toEqual(
      failure('upstream_overloaded'),
    );
  });
});
