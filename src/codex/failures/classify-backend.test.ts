import { describe, expect, it } from 'vitest';

import { check, HOST } from '../../../test/support/classified.ts';
import { failure } from '../../canonical/failure/failure.ts';
import { ALL_FAILURES } from '../../compose/features.ts';
import { classify, NO_DETAILS } from './classify.ts';

describe('overload', () => {
  const busy = { message: 'Busy.' };
  check([
    [
      '503',
      { status: 503, retryAfterSeconds: 3, ...busy },
      failure('upstream_overloaded', { retryAfterSeconds: 3 }),
    ],
    ['529', { status: 529, ...busy }, failure('upstream_overloaded')],
    [
      'server_is_overloaded',
      { status: 503, code: 'server_is_overloaded', ...busy },
      failure('upstream_overloaded', busy),
    ],
    ['slow_down in the stream', { code: 'slow_down', ...busy }, failure('upstream_overloaded', busy)],
    [
      'overloaded_error',
      { status: 529, type: 'overloaded_error', ...busy },
      failure('upstream_overloaded', busy),
    ],
    [
      'in words alone',
      { message: 'Selected model is at capacity.' },
      failure('upstream_overloaded', { message: 'Selected model is at capacity.' }),
    ],
  ]);
});

describe('the account that this server uses', () => {
  check([
    ['401', { status: 401, message: 'Incorrect API key' }, failure('upstream_unauthorized')],
    [
      'a token that is over',
      { code: 'token_expired', message: 'Expired.' },
      failure('upstream_unauthorized'),
    ],
    ['a key in a 400', { status: 400, message: 'API key not valid.' }, failure('upstream_unauthorized')],
    ['403', { status: 403, message: 'Not here.' }, failure('upstream_forbidden', { message: 'Not here.' })],
    [
      '403 about credentials',
      { status: 403, message: 'Authentication is needed.' },
      failure('upstream_forbidden'),
    ],
    ['a page of Cloudflare', { status: 403, isBlockPage: true }, failure('upstream_blocked')],
    [
      'a workspace that is closed',
      { status: 402, code: 'deactivated_workspace' },
      failure('account_unavailable', {
        message: 'The account that this server uses is unavailable: its workspace is closed.',
      }),
    ],
    [
      'a login that could not be renewed',
      { status: 500, code: 'token_refresh_failed' },
      failure('upstream_error', {
        message:
          'The login of this server could not be renewed: the sign-in service answered 500. Please try again later.',
      }),
    ],
    ['a login that is over', { status: 401, code: 'token_refresh_failed' }, failure('upstream_unauthorized')],
  ]);
  it('is not retried in vain', () => {
    for (const kind of ['upstream_unauthorized', 'sign_in_required', 'insufficient_quota'] as const) {
      expect([kind, failure(kind).headers]).toEqual([kind, { 'x-should-retry': 'false' }]);
    }
  });
});

describe('upstream failures', () => {
  const broken = (status: number): string =>
    `The upstream at ${HOST} had an error while processing the request (it answered ${status}).`;
  const late = failure('upstream_timeout', { message: `The upstream at ${HOST} did not answer in time.` });
  check([
    ['500', { status: 500, message: 'at /srv/main.py' }, failure('upstream_error', { message: broken(500) })],
    [
      '502 with a wait',
      { status: 502, retryAfterSeconds: 4 },
      failure('upstream_error', { message: broken(502), retryAfterSeconds: 4 }),
    ],
    ['408', { status: 408 }, late],
    ['504', { status: 504 }, late],
    [
      'an unknown code, in the stream',
      { code: 'vector_store_timeout', message: 'Late.' },
      failure('upstream_error', { code: 'vector_store_timeout', message: 'Late.' }),
    ],
    [
      'server_error in the stream',
      { code: 'server_error', message: 'Oops.' },
      failure('upstream_error', { message: 'Oops.' }),
    ],
    ['nothing', {}, failure('upstream_error')],
    ['an empty message', { code: 'server_error', message: '' }, failure('upstream_error')],
  ]);
});

describe('quoted messages', () => {
  it('contain no key, token or address, and are short', () => {
    const message =
      'Key sk-proj-abcdefghijk, k3y-of-0urs, Bearer abc.def and eyJhbGciOiJub25lIn0.eyJhIjoxfQ.sig at https://internal.example/v1?x=1 failed';
    const said = { ...NO_DETAILS, status: 400, message };
    expect(classify(said, ['', 'k3y-of-0urs']).message).toBe('Key sk-***, ***, Bearer *** and *** at failed');
    expect(classify({ ...said, message: 'x'.repeat(100_000) }).message).toHaveLength(4_000);
  });

  // A backend quotes what a client wrote, and an event may be long: quadratic time would not end.
  it.each(['encrypted content ', 'model ', '-eyJ'])('are read in linear time: %s', (word) => {
    const said = { ...NO_DETAILS, message: word.repeat(400_000) };
    expect(classify(said).message).toHaveLength(4_000);
  });

  it('make clear whose key is meant', () => {
    const doubtful = Object.entries(ALL_FAILURES)
      .filter(
        ([code, { message }]) =>
          code !== 'invalid_api_key' && /api key|unauthori[sz]ed|authenticat/i.test(message),
      )
      .map(([code]) => code);
    expect(doubtful).toEqual(['key_expired', 'key_paused', 'key_revoked', 'address_not_allowed']);
  });
});
