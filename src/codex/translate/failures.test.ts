import { describe, expect, it } from 'vitest';

import { failure } from '../../canonical/failure.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import { incompleteReason, toFailure, withoutInternals } from './failures.ts';

type Info = TurnError['codexErrorInfo'];
const told = (codexErrorInfo: Info, message = '') => toFailure({ message, codexErrorInfo });

describe('toFailure', () => {
  it.each([
    ['contextWindowExceeded', failure('context_length_exceeded', { param: 'input' })],
    ['usageLimitExceeded', failure('insufficient_quota', { message: 'words' })],
    ['sessionBudgetExceeded', failure('insufficient_quota', { message: 'words' })],
    ['rateLimitExceeded', failure('rate_limit_exceeded')],
    ['serverOverloaded', failure('upstream_overloaded')],
    ['flexUnavailable', failure('upstream_overloaded')],
    ['modelNotFound', failure('model_not_found', { message: 'words', param: 'model' })],
    ['cyberPolicy', failure('content_policy_violation', { message: 'words' })],
    ['unauthorized', failure('upstream_unauthorized')],
    ['internalServerError', failure('upstream_error')],
    ['badRequest', failure('upstream_error')],
    ['other', failure('upstream_error')],
    ['sandboxError', failure('server_error')],
  ] as const)('%s', (info, expected) => {
    expect(told(info, 'words')).toEqual(expected);
  });

  it('a name of tomorrow', () => {
    expect(told(JSON.parse('"aNewName"') as Info, 'words')).toEqual(failure('server_error'));
  });

  it.each([
    [401, 'upstream_unauthorized'],
    [403, 'upstream_forbidden'],
    [404, 'model_not_found'],
    [413, 'context_length_exceeded'],
    [418, 'invalid_prompt'],
    [429, 'rate_limit_exceeded'],
    [500, 'upstream_error'],
    [503, 'upstream_overloaded'],
  ] as const)('an HTTP status %i, as codex tells it in two ways', (status, kind) => {
    expect(told({ httpConnectionFailed: { httpStatusCode: status } }, 'secret')).toEqual(failure(kind));
    const message = `unexpected status ${status} Nope: body, url: http://127.0.0.1:1/v1/responses`;
    expect(told('other', message)).toEqual(failure(kind));
  });

  it.each([
    [{ httpConnectionFailed: { httpStatusCode: null } }, 'upstream_unreachable'],
    [{ responseStreamConnectionFailed: { httpStatusCode: null } }, 'upstream_error'],
    [{ responseStreamDisconnected: { httpStatusCode: null } }, 'upstream_error'],
    [{ responseTooManyFailedAttempts: { httpStatusCode: 429 } }, 'rate_limit_exceeded'],
  ] as const)('%j', (info, kind) => {
    expect(told(info)).toEqual(failure(kind));
  });

  it.each([
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
      'the form of other providers',
      '{"detail":"Unsupported parameter: x"}',
      failure('invalid_prompt', { message: 'Unsupported parameter: x' }),
    ],
    ['JSON without words', '{"error":{"status":1}}', failure('upstream_error')],
    ['broken JSON', '{"error":', failure('upstream_error')],
    ['no connection', 'error sending request for url (http://127.0.0.1:9/)', failure('upstream_unreachable')],
    ['a cut stream', 'stream disconnected before completion: closed', failure('upstream_error')],
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

  // As the binary says it (test/scenarios/content-filter): without the relay this is a failed turn today.
  it('a content filter', () => {
    const message =
      'stream disconnected before completion: Incomplete response returned, reason: content_filter';
    expect(incompleteReason({ message })).toBe('content_filter');
  });
});

describe('withoutInternals', () => {
  it.each([
    ['bad key, url: http://127.0.0.1:4711/v1/responses', 'bad key'],
    ['see https://example.org/x for more', 'see for more'],
    ['cannot read /root/.codex/auth.json now', 'cannot read … now'],
    ['either/or is no path', 'either/or is no path'],
    ['and/or a/b/c', 'and/or a/b/c'],
    ['nothing to hide', 'nothing to hide'],
  ])('%s', (message, expected) => {
    expect(withoutInternals(message)).toBe(expected);
  });

  // codex's own words for a used-up plan; today they come out as "Upgrade to Pro ( visit to purchase …".
  it('leaves a sentence that can be read', () => {
    const message =
      "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/codex/settings/usage to purchase more credits or try again later.";
    expect(withoutInternals(message)).not.toMatch(/\( |visit to/);
  });
});
