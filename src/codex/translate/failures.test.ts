import { describe, expect, it } from 'vitest';

import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import { incompleteReason, toFailure } from './failures.ts';

type Info = TurnError['codexErrorInfo'];
const told = (codexErrorInfo: Info, message = '') => toFailure({ message, codexErrorInfo });

/** Messages of codex 0.169.0, seen with a backend that sent these answers. */
const unexpected = (status: string, body: string, more = ''): string =>
  `unexpected status ${status}: ${body}, url: http://10.0.0.5:4711/v1/responses${more}`;

describe('toFailure', () => {
  const HIT_LIMIT =
    'You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro) or try again at 4:42 AM.';
  const NOT_INCLUDED =
    'To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.';

  it.each<readonly [Info, string, Failure]>([
    ['contextWindowExceeded', 'words', failure('context_length_exceeded', { param: 'input' })],
    [
      'usageLimitExceeded',
      HIT_LIMIT,
      failure('insufficient_quota', {
        message: `The backend refused: the account that this server uses has reached its limit. It said: ${HIT_LIMIT}`,
      }),
    ],
    [
      'usageLimitExceeded',
      NOT_INCLUDED,
      failure('insufficient_quota', {
        message: `The backend refused: the plan of the account that this server uses does not include this. It said: ${NOT_INCLUDED}`,
      }),
    ],
    [
      'sessionBudgetExceeded',
      'words',
      failure('insufficient_quota', {
        message:
          'The backend refused: the account that this server uses has reached its limit. It said: words',
      }),
    ],
    ['rateLimitExceeded', 'rate limit exceeded: words', failure('rate_limit_exceeded', { message: 'words' })],
    ['serverOverloaded', 'words', failure('upstream_overloaded', { message: 'words' })],
    ['flexUnavailable', 'words', failure('upstream_overloaded', { message: 'words' })],
    ['policyCapacityUnavailable', 'words', failure('upstream_overloaded', { message: 'words' })],
    ['modelNotFound', 'words', failure('model_not_found', { message: 'words', param: 'model' })],
    ['cyberPolicy', 'words', failure('content_policy_violation', { message: 'words', code: 'cyber_policy' })],
    [
      'misalignmentPolicyViolation',
      'words',
      failure('content_policy_violation', { message: 'words', code: 'misalignment_policy_violation' }),
    ],
    ['unauthorized', 'Please log out and sign in again.', failure('upstream_unauthorized')],
    [
      'internalServerError',
      'words',
      failure('upstream_error', {
        message: 'The upstream had an error while processing the request (it answered 500).',
      }),
    ],
    [
      'inferenceHookDenied',
      'words',
      failure('content_policy_violation', { message: 'words', code: 'inference_hook_denied' }),
    ],
    ['badRequest', 'words', failure('invalid_prompt', { message: 'words' })],
    ['other', 'words', failure('invalid_prompt', { message: 'words' })],
    ['sandboxError', 'words', failure('server_error')],
    [JSON.parse('"aNewName"') as Info, 'words', failure('server_error')],
  ])('%s: %s', (info, message, expected) => {
    expect(told(info, message)).toEqual(expected);
  });

  const at = 'The upstream at 10.0.0.5:4711';
  it.each<readonly [number, string, Failure]>([
    [401, unexpected('401 Unauthorized', 'Incorrect key: k'), failure('upstream_unauthorized')],
    [
      403,
      unexpected('403 Forbidden', 'Not in your country.'),
      failure('upstream_forbidden', { message: 'Not in your country.' }),
    ],
    [
      403,
      unexpected('403 Forbidden', '<!DOCTYPE html><title>Just a moment...</title>', ', cf-ray: 8aa'),
      failure('upstream_blocked'),
    ],
    [
      404,
      unexpected('404 Not Found', '{"detail":"Model not found"}'),
      failure('model_not_found', { message: 'Model not found', param: 'model' }),
    ],
    [
      404,
      unexpected('404 Not Found', "Item with id 'rs_1' not found.", ', request id: req_1'),
      failure('invalid_prompt', { message: "Item with id 'rs_1' not found.", param: 'input' }),
    ],
    [
      404,
      unexpected('404 Not Found', '<html>nope, url: model</html>'),
      failure('upstream_error', {
        message: `${at} does not have this path (it answered 404). On the server, check PROXY_UPSTREAM_BASE_URL.`,
      }),
    ],
    [
      408,
      unexpected('408 Request Timeout', 'x'),
      failure('upstream_timeout', { message: `${at} did not answer in time.` }),
    ],
    [
      413,
      unexpected('413 Payload Too Large', 'Too long.'),
      failure('context_length_exceeded', { message: 'Too long.', param: 'input' }),
    ],
    [
      422,
      unexpected(
        '422 Unprocessable Entity',
        '{"detail":[{"type":"extra_forbidden","loc":["body","x"],"msg":"No x"}]}',
      ),
      failure('invalid_prompt', { message: 'No x', param: 'x', code: 'extra_forbidden' }),
    ],
    [429, 'exceeded retry limit, last status: 429 Too Many Requests', failure('rate_limit_exceeded')],
    [
      502,
      unexpected('502 Bad Gateway', '<html>bad gateway</html>'),
      failure('upstream_error', {
        message: `${at} had an error while processing the request (it answered 502).`,
      }),
    ],
    [503, unexpected('503 Service Unavailable', 'busy'), failure('upstream_overloaded')],
    [529, unexpected('529 <unknown status code>', 'x'), failure('upstream_overloaded')],
  ])('an HTTP status %i: %s', (status, message, expected) => {
    expect(told({ httpConnectionFailed: { httpStatusCode: status } }, message)).toEqual(expected);
    if (message.startsWith('unexpected')) expect(told('other', message)).toEqual(expected);
  });

  it.each([
    [{ httpConnectionFailed: { httpStatusCode: null } }, failure('upstream_unreachable')],
    [{ responseStreamConnectionFailed: { httpStatusCode: null } }, failure('upstream_error')],
    [{ responseStreamDisconnected: { httpStatusCode: null } }, failure('upstream_error')],
    [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, failure('rate_limit_exceeded')],
  ] as const)('%j', (info, expected) => {
    expect(told(info)).toEqual(expected);
  });

  it('a lost network', () => {
    const codexErrorInfo = { responseStreamDisconnected: { httpStatusCode: null } };
    const additionalDetails = 'Connection failed: error sending request';
    expect(toFailure({ message: 'Reconnecting...', codexErrorInfo, additionalDetails })).toEqual(
      failure('upstream_unreachable'),
    );
  });

  it.each<readonly [string, string, Failure]>([
    [
      "the body of an upstream's 400",
      '{"error":{"message":"Bad \'x\'.","type":"invalid_request_error","param":"x","code":"invalid_value"}}',
      failure('invalid_prompt', { message: "Bad 'x'.", param: 'x', code: 'invalid_value' }),
    ],
    [
      'one without a code',
      '{"error":{"message":"Bad.","param":null,"code":null}}',
      failure('invalid_prompt', { message: 'Bad.' }),
    ],
    [
      'one that is about the length',
      '{"error":{"message":"Too long.","code":"context_length_exceeded","param":"input"}}',
      failure('context_length_exceeded', { message: 'Too long.', param: 'input' }),
    ],
    [
      'one that is about foreign reasoning',
      '{"error":{"message":"Not verified.","code":"invalid_encrypted_content","param":null}}',
      failure('invalid_prompt', {
        message: 'Not verified.',
        param: 'input',
        code: 'invalid_encrypted_content',
      }),
    ],
    [
      'one that is about the model',
      '{"detail":"The \'x\' model is not supported when using Codex with a ChatGPT account."}',
      failure('model_not_found', {
        message: "The 'x' model is not supported when using Codex with a ChatGPT account.",
        param: 'model',
      }),
    ],
    [
      'the form of other providers',
      '{"detail":"Unsupported parameter: x"}',
      failure('invalid_prompt', { message: 'Unsupported parameter: x' }),
    ],
    [
      'a used-up plan in the stream',
      'stream disconnected before completion: The usage limit has been reached',
      failure('insufficient_quota', {
        message:
          'The backend refused: the account that this server uses has reached its limit. It said: The usage limit has been reached',
      }),
    ],
    [
      'a policy whose code codex keeps for itself',
      'This request was flagged.',
      failure('content_policy_violation', { message: 'This request was flagged.' }),
    ],
    [
      'a login that could not be renewed',
      'Failed to refresh token: 403 Forbidden',
      failure('upstream_error', {
        message:
          'The login of this server could not be renewed: the sign-in service answered 403. Please try again later.',
      }),
    ],
    [
      'a login whose service is not there',
      'error sending request for url (https://auth.openai.com/oauth/token)',
      failure('upstream_unreachable', { message: 'The upstream at auth.openai.com could not be reached.' }),
    ],
    ['JSON without words', '{"error":{"status":1}}', failure('upstream_error')],
    ['broken JSON', '{"error":', failure('upstream_error')],
    ['no connection', 'Connection failed: error sending request', failure('upstream_unreachable')],
    ['a cut stream', 'stream disconnected before completion: closed', failure('upstream_error')],
    ['a crash', 'internal error; agent loop died unexpectedly', failure('upstream_error')],
    ['a login in renewal', 'Account credentials changed during refresh.', failure('upstream_error')],
    ['a missing file', 'No such file or directory (os error 2)', failure('upstream_error')],
    ['JSON that codex cannot read', 'expected value at line 1 column 1', failure('upstream_error')],
    ['a missing key', 'Missing environment variable: `KEY`.', failure('upstream_error')],
    ['nothing', '', failure('upstream_error')],
  ])('%s', (_, message, expected) => {
    expect(told('other', message)).toEqual(expected);
    expect(told(null, message)).toEqual(expected);
  });
});

describe('incompleteReason', () => {
  it.each([
    ['Incomplete response returned, reason: max_output_tokens', 'max_output_tokens'],
    ['Incomplete response returned, reason: something_new', null],
    ['stream disconnected before completion', null],
    ['', null],
  ])('%s', (message, reason) => {
    expect(incompleteReason({ message })).toBe(reason);
  });

  // The binary's message (test/scenarios/content-filter).
  it('a content filter', () => {
    const message =
      'stream disconnected before completion: Incomplete response returned, reason: content_filter';
    expect(incompleteReason({ message })).toBe('content_filter');
  });
});
