import { describe, expect, it } from 'vitest';

import { FAILURES, type FailureCode } from '../canonical/failure/failure-catalogue.ts';
import { ALL_FAILURES } from '../compose/features.ts';
import { failure, failureFrom, type Failure } from '../canonical/failure/failure.ts';
import { missing } from '../apis/validation.ts';
import { anthropicError, anthropicErrors, restateFailure } from './errors.ts';
import { knownModel } from '../../test/support/models.ts';

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
    expect(final.toSorted(), 'An error with `final: true` has a line here.').toEqual([
      'address_not_allowed',
      'answer_too_large',
      'codex_incompatible',
      'console_not_served',
      'idempotency_key_reused',
      'image_not_generated',
      'insufficient_quota',
      'invalid_api_key',
      'key_already_revoked',
      'key_expired',
      'key_paused',
      'key_revoked',
      'missing_scope',
      'session_busy',
      'session_limit',
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

const asked = (contextWindow: number | null) =>
  restateFailure({ id: 'claude-opus-5-5', info: knownModel('gpt-5.5', { contextWindow }) });
const counts = (tokens: number | null) => async () => tokens;
const never = async (): Promise<never> => {
  throw new Error('nothing has to be counted');
};
const said = (message: string) => failure('context_length_exceeded', { message, param: 'input' });
const PLAIN = 'Your input exceeds the context window of this model.';

describe('restateFailure', () => {
  it('names the model as it was asked for', async () => {
    const failed = failure('model_not_found', { message: 'No such model.', param: 'model' });
    expect(await asked(null)(failed, never)).toEqual({ ...failed, message: 'model: claude-opus-5-5' });
  });

  it('leaves other failures as they are', async () => {
    const failed = failure('rate_limit_exceeded');
    expect(await asked(1000)(failed, never)).toBe(failed);
  });

  it.each([
    [PLAIN, 1000, 1500, 'prompt is too long: 1500 tokens > 1000 maximum'],
    // The count does not confirm the error, or nothing is known.
    [PLAIN, 1000, 900, `prompt is too long: ${PLAIN}`],
    [PLAIN, 1000, null, `prompt is too long: ${PLAIN}`],
    [PLAIN, null, 1500, `prompt is too long: ${PLAIN}`],
  ])(
    'counts the tokens if the backend gives no numbers: %s %j %j',
    async (message, window, tokens, shown) => {
      const failed = said(message);
      expect(await asked(window)(failed, counts(tokens))).toEqual({ ...failed, message: shown });
    },
  );

  it.each([
    [
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.",
      'prompt is too long: 5000 tokens > 4097 maximum',
    ],
    [
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.',
      'prompt is too long: 300000 tokens > 272000 maximum',
    ],
    [
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
      'prompt is too long: 1200000 tokens > 1048576 maximum',
    ],
    [
      'prompt is too long: 210000 tokens > 200000 maximum',
      'prompt is too long: 210000 tokens > 200000 maximum',
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the messages, 8000 in the completion). Please reduce the length.",
      'input length and `max_tokens` exceed context limit: 1000 + 8000 > 8192, decrease input length or `max_tokens` and try again',
    ],
    [
      "This model's maximum context length is 4097 tokens, however you requested 9000 tokens (5000 in your prompt; 4000 for the completion).",
      'prompt is too long: 5000 tokens > 4097 maximum',
    ],
    [
      "You passed 8000 input tokens and requested 1000 output tokens. However, the model's context length is only 8192 tokens.",
      'input length and `max_tokens` exceed context limit: 8000 + 1000 > 8192, decrease input length or `max_tokens` and try again',
    ],
  ])('takes the numbers of the backend: %s', async (message, shown) => {
    const failed = said(message);
    expect(await asked(1_000)(failed, never)).toEqual({ ...failed, message: shown });
  });
});
