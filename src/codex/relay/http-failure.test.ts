import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure.ts';
import { httpFailure, readUpstreamError, streamFailure } from './http-failure.ts';

const openai = (error: Record<string, unknown>): string => JSON.stringify({ error });

describe('the errors of backends', () => {
  it('are read in the forms that they have', () => {
    const nothing = { message: null, type: null, code: null, param: null, resetsInSeconds: null };
    expect(
      readUpstreamError(
        openai({ message: 'No.', type: 'invalid_request_error', param: 'input', code: 'bad' }),
      ),
    ).toEqual({ ...nothing, message: 'No.', type: 'invalid_request_error', param: 'input', code: 'bad' });
    expect(readUpstreamError('{"detail":"Unsupported parameter: temperature"}')).toEqual({
      ...nothing,
      message: 'Unsupported parameter: temperature',
    });
    expect(readUpstreamError('{"error":"model is loading"}')).toEqual({
      ...nothing,
      message: 'model is loading',
    });
    const pydantic = [{ type: 'extra_forbidden', loc: ['body', 'text', 'x'], msg: 'Extra inputs' }];
    const read = { ...nothing, message: 'Extra inputs', code: 'extra_forbidden', param: 'text.x' };
    expect(readUpstreamError(JSON.stringify({ detail: pydantic }))).toEqual(read);
    expect(readUpstreamError(JSON.stringify({ message: { detail: pydantic } }))).toEqual(read);
    expect(readUpstreamError(openai({ type: 'usage_limit_reached', resets_in_seconds: 9.5 }))).toEqual({
      ...nothing,
      type: 'usage_limit_reached',
      resetsInSeconds: 10,
    });
    for (const garbage of ['', '<html>', '[]', 'null', '{"error":', '{"detail":[3]}', '{"detail":[]}']) {
      expect(readUpstreamError(garbage)).toEqual(nothing);
    }
  });

  it('become failures by their status', () => {
    const text = openai({ message: 'Words.', param: 'input', code: 'own_code' });
    const said = { message: 'Words.', param: 'input', code: 'own_code' };
    expect(httpFailure(400, text, null)).toEqual(failure('invalid_prompt', said));
    expect(httpFailure(422, text, null)).toEqual(failure('invalid_prompt', said));
    expect(httpFailure(401, text, null)).toEqual(failure('upstream_unauthorized'));
    expect(httpFailure(403, text, null)).toEqual(failure('upstream_forbidden', { message: 'Words.' }));
    expect(httpFailure(404, text, null)).toEqual(
      failure('model_not_found', { message: 'Words.', param: 'input' }),
    );
    expect(httpFailure(408, text, null)).toEqual(
      failure('upstream_error', { message: 'The upstream did not answer in time.' }),
    );
    expect(httpFailure(413, text, null)).toEqual(failure('context_length_exceeded', said));
    expect(httpFailure(429, text, 7)).toEqual(
      failure('rate_limit_exceeded', { message: 'Words.', retryAfterSeconds: 7 }),
    );
    expect(httpFailure(500, text, null)).toEqual(failure('upstream_error'));
    expect(httpFailure(503, text, 3)).toEqual(failure('upstream_overloaded', { retryAfterSeconds: 3 }));
    expect(httpFailure(418, 'tea', null)).toEqual(failure('invalid_prompt'));
  });

  it('tell a used-up quota from a rate limit', () => {
    const limit = { type: 'usage_limit_reached', message: 'Used up.', resets_in_seconds: 3600 };
    const expected = failure('insufficient_quota', { message: 'Used up.', retryAfterSeconds: 3600 });
    expect(httpFailure(429, openai(limit), 5)).toEqual(expected);
    expect(expected.headers).toEqual({ 'x-should-retry': 'false' });
    expect(httpFailure(429, openai({ code: 'insufficient_quota' }), 5)).toEqual(
      failure('insufficient_quota', { retryAfterSeconds: 5 }),
    );
  });

  it('quote no key, no address and no book', () => {
    const message = 'Key sk-proj-abcdefghijk and Bearer abc.def at https://internal.example/v1?x=1 failed';
    const said = httpFailure(403, openai({ message }), null).message;
    expect(said).toBe('Key sk-*** and Bearer *** at failed');
    expect(streamFailure('x', message).message).toBe(said);
    expect(httpFailure(400, openai({ message: 'x'.repeat(100_000) }), null).message).toHaveLength(4_000);
  });

  it('in a stream are a code and a message', () => {
    expect(streamFailure('context_length_exceeded', 'Long.')).toEqual(
      failure('context_length_exceeded', { message: 'Long.', param: 'input' }),
    );
    expect(streamFailure('rate_limit_exceeded', 'Slow.')).toEqual(
      failure('rate_limit_exceeded', { message: 'Slow.' }),
    );
    for (const code of ['insufficient_quota', 'usage_limit_reached', 'usage_not_included']) {
      expect(streamFailure(code, 'Used up.')).toEqual(failure('insufficient_quota', { message: 'Used up.' }));
    }
    expect(streamFailure('invalid_prompt', 'No.')).toEqual(failure('invalid_prompt', { message: 'No.' }));
    for (const code of ['server_is_overloaded', 'slow_down']) {
      expect(streamFailure(code, 'Busy.')).toEqual(failure('upstream_overloaded', { message: 'Busy.' }));
    }
    expect(streamFailure('vector_store_timeout', 'Late.')).toEqual(
      failure('upstream_error', { message: 'Late.', code: 'vector_store_timeout' }),
    );
    expect(streamFailure('server_error', '')).toEqual(failure('upstream_error'));
    expect(streamFailure('', '')).toEqual(failure('upstream_error'));
  });
});
