import { describe, expect, it } from 'vitest';

import { readErrorBody, type UpstreamError } from './read-error.ts';

const nothing: UpstreamError = {
  message: null,
  type: null,
  code: null,
  param: null,
  resetsAt: null,
  resetsInSeconds: null,
};
const openai = { message: 'No.', type: 'invalid_request_error', param: 'input', code: 'bad' };
const pydantic = [{ type: 'extra_forbidden', loc: ['body', 'text', 'x'], msg: 'Extra inputs' }];
const listed = { message: 'Extra inputs', code: 'extra_forbidden', param: 'text.x' };

describe('the errors of backends', () => {
  it.each<readonly [string, unknown, Partial<UpstreamError>]>([
    ["OpenAI's", { error: openai }, openai],
    ['one in a list', [{ error: openai }], openai],
    ['a sentence', { detail: 'Unsupported parameter: x' }, { message: 'Unsupported parameter: x' }],
    ['a sentence as the error', { error: 'model is loading' }, { message: 'model is loading' }],
    [
      'an object of details',
      { detail: { code: 'deactivated_workspace' } },
      { code: 'deactivated_workspace' },
    ],
    ["pydantic's list", { detail: pydantic }, listed],
    ["pydantic's list in a message", { message: { detail: pydantic } }, listed],
    ["pydantic's list in an error", { error: { message: { detail: pydantic } } }, listed],
    [
      'a used-up plan',
      { error: { type: 'usage_limit_reached', resets_at: 1_795_185_000, resets_in_seconds: 9.5 } },
      { type: 'usage_limit_reached', resetsAt: 1_795_185_000, resetsInSeconds: 9.5 },
    ],
    [
      'invalid names',
      { error: { code: 'two words', type: 'x'.repeat(200), message: 'm' } },
      { message: 'm' },
    ],
    ['numbers for names', { error: { code: 404, message: 'm', resets_at: 'soon' } }, { message: 'm' }],
    ['other things', { detail: [3] }, {}],
    ['an empty list', { detail: [] }, {}],
  ])('%s', (_, body, expected) => {
    expect(readErrorBody(JSON.stringify(body))).toEqual({ ...nothing, ...expected });
  });

  it.each(['', '<html>', '[]', 'null', '{"error":', '[{]', '3'])('garbage: %s', (text) => {
    expect(readErrorBody(text)).toEqual(nothing);
  });
});
