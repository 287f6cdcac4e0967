import { describe } from 'vitest';

import { check, HOST, type ClassifiedRow } from '../../../test/support/classified.ts';
import { failure, type Failure } from '../../canonical/failure/failure.ts';

/** 2026-11-20 14:30 UTC */
const AT = 1_795_185_000;

describe('a used-up plan', () => {
  const limit = {
    message:
      'The backend refused: the account that this server uses has reached its limit, until 2026-11-20 14:30 UTC. It said: Limit reached.',
    retryAfterSeconds: 3600,
  };
  check([
    [
      'as an HTTP error',
      {
        status: 429,
        type: 'usage_limit_reached',
        message: 'Limit reached.',
        resetsAt: AT,
        resetsInSeconds: 3599.2,
        retryAfterSeconds: 5,
      },
      failure('insufficient_quota', limit),
    ],
    [
      'in the stream',
      { code: 'usage_limit_reached', message: 'Limit reached.', resetsAt: AT, resetsInSeconds: 3600 },
      failure('insufficient_quota', limit),
    ],
    [
      'that never had this',
      { status: 429, type: 'usage_not_included', message: 'Upgrade.' },
      failure('insufficient_quota', {
        message:
          'The backend refused: the plan of the account that this server uses does not include this. It said: Upgrade.',
      }),
    ],
    [
      'of a provider, with a header',
      { status: 429, code: 'insufficient_quota', retryAfterSeconds: 9 },
      failure('insufficient_quota', {
        message: 'The backend refused: the account that this server uses has reached its limit.',
        retryAfterSeconds: 9,
      }),
    ],
    [
      'that must be paid',
      { status: 402, message: 'Insufficient balance' },
      failure('insufficient_quota', {
        message:
          'The backend refused: the account that this server uses has reached its limit. It said: Insufficient balance',
      }),
    ],
    [
      'until a time in the past, or an invalid one',
      { code: 'usage_limit_reached', resetsAt: 1e300, resetsInSeconds: -5 },
      failure('insufficient_quota', {
        message: 'The backend refused: the account that this server uses has reached its limit.',
        retryAfterSeconds: 0,
      }),
    ],
  ]);
});

describe('a rate limit', () => {
  const slow = { message: 'Slow.', retryAfterSeconds: 7 };
  check([
    [
      'without a code',
      { status: 429, message: 'Slow.' },
      failure('rate_limit_exceeded', { message: 'Slow.' }),
    ],
    [
      'that speaks of a quota without a code',
      { status: 429, message: 'Quota exceeded for requests per minute' },
      failure('rate_limit_exceeded', { message: 'Quota exceeded for requests per minute' }),
    ],
    ['with a wait', { status: 429, ...slow }, failure('rate_limit_exceeded', slow)],
    ['in the stream', { code: 'rate_limit_exceeded', ...slow }, failure('rate_limit_exceeded', slow)],
    [
      'with the wait in its words',
      { code: 'rate_limit_exceeded', message: 'Please try again in 11.054s.' },
      failure('rate_limit_exceeded', { message: 'Please try again in 11.054s.', retryAfterSeconds: 12 }),
    ],
    [
      'with the wait in its words, in milliseconds',
      { status: 429, message: 'Please try again in 230ms.' },
      failure('rate_limit_exceeded', { message: 'Please try again in 230ms.', retryAfterSeconds: 1 }),
    ],
  ]);
});

describe('a policy violation', () => {
  const codes = [
    'cyber_policy',
    'bio_policy',
    'misalignment_policy_violation',
    'inference_hook_denied',
    'content_policy_violation',
    'image_content_policy_violation',
    'content_filter',
  ];
  check(
    [400, 403, null].flatMap((status) =>
      codes.map((code): ClassifiedRow => [
        `${code}, ${status ?? 'in the stream'}`,
        { status, code, message: 'No.' },
        failure('content_policy_violation', { message: 'No.', code }),
      ]),
    ),
  );
  check([
    [
      'in words alone',
      { message: 'Your request was flagged.' },
      failure('content_policy_violation', { message: 'Your request was flagged.' }),
    ],
  ]);
});

describe('an unknown model', () => {
  const NOT_SUPPORTED = "The 'gpt-5.1' model is not supported when using Codex with a ChatGPT account.";
  const unknown = (message: string): Failure => failure('model_not_found', { message, param: 'model' });
  check([
    ['that the account may not use', { status: 400, message: NOT_SUPPORTED }, unknown(NOT_SUPPORTED)],
    [
      'that the account may not use, under a code that says nothing',
      { status: 400, code: 'invalid_request_error', message: NOT_SUPPORTED },
      unknown(NOT_SUPPORTED),
    ],
    ['that is not found', { status: 404, message: 'Model not found' }, unknown('Model not found')],
    ['by its code', { status: 404, code: 'model_not_found', message: 'No x.' }, unknown('No x.')],
    ['by its code in the stream', { code: 'model_not_found', message: 'No x.' }, unknown('No x.')],
    ['by the parameter', { status: 404, param: 'model', message: 'No x.' }, unknown('No x.')],
    [
      'of vLLM',
      { status: 404, type: 'NotFoundError', message: 'The model `x` does not exist.' },
      unknown('The model `x` does not exist.'),
    ],
    ['of Ollama', { status: 404, message: "model 'x' not found" }, unknown("model 'x' not found")],
  ]);
});

describe('a model for a newer codex', () => {
  const NEWER = "The 'gpt-6' model requires a newer version of Codex.";
  const outdated = failure('codex_incompatible', {
    message: `The backend requires a newer codex than this server has: its operator has to update it. It said: ${NEWER}`,
  });
  check([
    ['before the answer', { status: 400, message: NEWER }, outdated],
    ['in the answer', { message: NEWER }, outdated],
  ]);
});

describe('a 404 that is not about a model', () => {
  const LOST = "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.";
  const path = (status: number): Failure =>
    failure('upstream_error', {
      message: `The upstream at ${HOST} does not have this path (it answered ${status}). On the server, check PROXY_UPSTREAM_BASE_URL.`,
    });
  check([
    [
      'a lost item',
      { status: 404, message: LOST },
      failure('invalid_prompt', { message: LOST, param: 'input' }),
    ],
    [
      'a lost item that says where',
      { status: 404, message: LOST, param: 'input[2]' },
      failure('invalid_prompt', { message: LOST, param: 'input[2]' }),
    ],
    [
      'another thing of the request',
      { status: 404, code: 'previous_response_not_found', param: 'previous_response_id', message: 'Gone.' },
      failure('invalid_prompt', {
        code: 'previous_response_not_found',
        param: 'previous_response_id',
        message: 'Gone.',
      }),
    ],
    ['a path', { status: 404, message: 'Not Found' }, path(404)],
    ['a path without words', { status: 404 }, path(404)],
    ['a method of a path', { status: 405 }, path(405)],
    [
      'an unknown path',
      { status: 404, host: null },
      failure('upstream_error', {
        message:
          'The upstream does not have this path (it answered 404). On the server, check PROXY_UPSTREAM_BASE_URL.',
      }),
    ],
  ]);
});

describe('invalid input', () => {
  const foreign = { code: 'invalid_encrypted_content', param: 'input', message: 'Not verified.' };
  const words = 'The encrypted content gAAA could not be verified.';
  check([
    [
      'with reasoning of another',
      { status: 400, ...foreign, param: null },
      failure('invalid_prompt', foreign),
    ],
    [
      'with reasoning of another, in the stream',
      { ...foreign, param: null },
      failure('invalid_prompt', foreign),
    ],
    [
      'with reasoning of another, in words alone',
      { status: 400, message: words },
      failure('invalid_prompt', { ...foreign, message: words }),
    ],
    [
      'that is too long',
      { status: 400, code: 'context_length_exceeded', message: 'Long.' },
      failure('context_length_exceeded', { message: 'Long.', param: 'input' }),
    ],
    [
      'that is too long, in the stream',
      { code: 'context_length_exceeded', message: 'Long.' },
      failure('context_length_exceeded', { message: 'Long.', param: 'input' }),
    ],
    ['that is too large', { status: 413 }, failure('context_length_exceeded', { param: 'input' })],
    [
      'that is wrong',
      { status: 400, code: 'invalid_value', param: 'x', message: 'Bad x.' },
      failure('invalid_prompt', { code: 'invalid_value', param: 'x', message: 'Bad x.' }),
    ],
    ['that is wrong somehow', { status: 418 }, failure('invalid_prompt')],
    [
      'that is wrong, in the stream',
      { code: 'invalid_image', message: 'No image.' },
      failure('invalid_prompt', { code: 'invalid_image', message: 'No image.' }),
    ],
    [
      'with a name of the client that sounds like a key',
      { status: 400, message: "Invalid schema for function 'authenticate'." },
      failure('invalid_prompt', { message: "Invalid schema for function 'authenticate'." }),
    ],
  ]);
});
