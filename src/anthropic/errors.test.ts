import { describe, expect, it } from 'vitest';

import { FAILURES, type FailureCode } from '../canonical/failure/failure-catalogue.ts';
import { ALL_FAILURES } from '../compose/feature-tables.ts';
import { failure, failureFrom, type Failure } from '../canonical/failure/failure.ts';
import { missing } from '../apis/validation.ts';
import { anthropicError } from './error-table.ts';
import { anthropicErrors } from './errors.ts';

const messageOf = (kind: FailureCode, param: string | null, message: string): string => {
  const { body } = anthropicErrors(failure(kind, { param, message }), null);
  return (body as { readonly error: { readonly message: string } }).error.message;
};

/** Of the catalogue, or of a feature. */
const failureIn = (kind: string): Failure =>
  kind in FAILURES ? failure(kind as FailureCode) : failureFrom(kind, ALL_FAILURES[kind]!, {});

describe('anthropicErrors', () => {
  it('reports a failure with its type, its request and its headers', () => {
    const limited: Failure = failure('insufficient_quota', { message: 'Used up.', retryAfterSeconds: 90 });
    expect(anthropicErrors(limited, 'req_1')).toEqual({
      status: 429,
      headers: { 'retry-after': '90', 'x-should-retry': 'false' },
      body: {
        type: 'error',
        error: { type: 'rate_limit_error', message: 'Used up.' },
        request_id: 'req_1',
      },
    });
  });

  it('shows further fields of a failure', () => {
    const details = { error_code: 'thread_unsupported_request', unsupported: ['store'] };
    const failed: Failure = { ...failure('unsupported_parameter', { message: 'No.' }), more: { details } };
    expect(anthropicErrors(failed, 'req_1').body).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'No.', details },
      request_id: 'req_1',
    });
  });

  it.each<[FailureCode, string | null, string, string]>([
    ['missing_required_parameter', 'max_tokens', missing('max_tokens').message, 'max_tokens: Field required'],
    ['invalid_type', 'a[0].b', "Invalid type for 'a[0].b': expected x.", 'a[0].b: expected x.'],
    ['invalid_value', 'stop', "Invalid 'stop': too long.", 'stop: too long.'],
    ['invalid_value', 'a.type', "Invalid value: 'x'.", "a.type: Invalid value: 'x'."],
    ['unsupported_value', 'a', "Unsupported value: 'a' is odd.", "Unsupported value: 'a' is odd."],
    ['unsupported_tool', 'tools[0]', 'tools[0]: no.', 'tools[0]: no.'],
    ['invalid_value', null, 'No.', 'No.'],
    ['invalid_type', '', "Invalid type for '': expected an object.", 'body: expected an object.'],
    // The upstream names a field of its own API.
    ['invalid_prompt', 'input[2]', 'Bad.', 'Bad.'],
  ])('names the field first: %s of %s', (kind, param, message, shown) => {
    expect(messageOf(kind, param, message)).toBe(shown);
  });

  it('differs from the status of the catalogue in these rows only', () => {
    const other = Object.entries(ALL_FAILURES).flatMap(([kind, { status }]) => {
      const row = anthropicError(failureIn(kind));
      return row.status === status ? [] : [`${kind} ${status} ${row.status}`];
    });
    expect(other).toEqual([
      'upstream_forbidden 400 403',
      'server_overloaded 503 529',
      'upstream_overloaded 503 529',
    ]);
  });

  it('tells clients not to repeat what cannot succeed', () => {
    const final = Object.keys(ALL_FAILURES).filter((kind) => {
      const { headers } = anthropicErrors(failureIn(kind), null);
      return headers['x-should-retry'] === 'false';
    });
    expect(final.toSorted()).toEqual([
      'address_not_allowed',
      'answer_too_large',
      'codex_incompatible',
      'console_not_served',
      'image_not_generated',
      'insufficient_quota',
      'invalid_api_key',
      'key_already_revoked',
      'key_expired',
      'key_paused',
      'key_revoked',
      'missing_scope',
      'sign_in_failed',
      'sign_in_pending',
      'sign_in_required',
      'sign_out_failed',
      'storage_limit_exceeded',
      'store_corrupt',
      'too_many_output_items',
      'tool_choice_not_satisfied',
      'upstream_unauthorized',
    ]);
  });
});
