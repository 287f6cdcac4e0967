import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { createModelNames } from '../../canonical/models/model-names.ts';
import { turnRequest, NO_SAMPLING } from '../../../test/support/turn-request.ts';
import type { Path } from '../../canonical/request/path.ts';
import { parameterName } from '../../apis/parameters.ts';
import { completionToTurn, tokenPrompts, withTexts } from './to-turn.ts';
import { modelList } from '../../../test/support/models.ts';
import { refused } from '../../../test/support/refused.ts';

const options = { models: createModelNames(modelList([])) };
const read = (some: object) => completionToTurn({ model: 'm', prompt: 'hi', ...some }, options);

const refusalOf = (some: object): string => {
  try {
    read(some);
  } catch (error) {
    const { status, code, param } = failureOf(error);
    return `${status} ${code} ${param}`;
  }
  return 'taken';
};

describe('a completion request', () => {
  it('becomes a user message', () => {
    const { request, ignored, names } = read({});
    expect(request).toEqual(
      turnRequest({
        model: 'm',
      }),
    );
    expect(ignored).toEqual([]);
    const paths: readonly Path[] = [{ item: 0 }, 'items', 'reasoning.effort', 'sampling.topP'];
    expect(paths.map((path) => parameterName(path, names))).toEqual(['prompt', 'prompt', 'model', 'top_p']);
    expect(read({ prompt: ['hi'] }).request).toEqual(request);
  });

  it('becomes one turn per prompt', () => {
    const { request, further, prompts } = read({ prompt: ['hi', 'ho', ''], temperature: 1, n: 2 });
    const asked = (text: string) => ({ ...request, items: read({ prompt: text }).request.items });
    expect([request, ...further]).toEqual(['hi', 'ho', ''].map(asked));
    expect(prompts).toEqual(['hi', 'ho', '']);
  });

  it('maps the same settings as Chat', () => {
    const { request, ignored } = read({
      max_tokens: 5,
      stop: ['a', 'b'],
      temperature: 0.5,
      user: 'ann',
      logit_bias: { '1': 2 },
      best_of: 1,
      echo: true,
      suffix: '',
      logprobs: null,
    });
    expect(request).toEqual(
      turnRequest({
        model: 'm',
        maxOutputTokens: 5,
        stop: ['a', 'b'],
        sampling: { ...NO_SAMPLING, temperature: 0.5 },
        user: 'ann',
      }),
    );
    expect(ignored).toEqual(['logit_bias']);
  });

  it.each([
    [{ prompt: undefined }, '400 missing_required_parameter prompt'],
    [{ prompt: [] }, '400 empty_array prompt'],
    [{ prompt: ['a', [1]] }, '400 invalid_type prompt[1]'],
    [{ prompt: Array.from({ length: 129 }, () => 'a') }, '400 array_above_max_length prompt'],
    [{ prompt: Array.from({ length: 65 }, () => 'a'), n: 2 }, '400 invalid_value prompt'],
    [{ suffix: 'x' }, '400 unsupported_parameter suffix'],
    [{ best_of: 2 }, '400 unsupported_parameter best_of'],
    [{ logprobs: 0 }, '400 unsupported_parameter logprobs'],
    [{ stream_options: {} }, '400 invalid_value stream_options'],
    [{ n: 129 }, '400 integer_above_max_value n'],
  ])('is rejected with %j', (some, expected) => {
    expect(refusalOf(some)).toBe(expected);
  });

  it('is rejected if the echo is too long', () => {
    const prompt = ['x'.repeat(100_000), 'y'.repeat(100_000)];
    expect([
      refusalOf({ prompt, n: 64 }),
      refusalOf({ prompt, n: 64, echo: true }),
      refusalOf({ prompt: 'x'.repeat(100_000), n: 128, echo: true }),
      refusalOf({ prompt: 'x'.repeat(200_000), n: 128, echo: true }),
      refusalOf({ prompt: ['x'.repeat(9_000_000), 'y'.repeat(9_000_000)], echo: true }),
    ]).toEqual(['taken', 'taken', 'taken', '400 invalid_value n', 'taken']);
  });
});

const promptRefusalOf = (act: () => unknown): string => {
  const { status, code, param } = refused(act);
  return `${status} ${code} ${param}`;
};

describe('token prompts', () => {
  it.each([
    ['one', [1, 2], [{ at: 'prompt', tokens: [1, 2] }]],
    [
      'several',
      [[1], [2, 3]],
      [
        { at: 'prompt[0]', tokens: [1] },
        { at: 'prompt[1]', tokens: [2, 3] },
      ],
    ],
    ['a text', 'hi', []],
    ['texts', ['hi'], []],
    ['several kinds', [[1], 'hi'], []],
    ['an empty list', [], []],
    ['no prompt', undefined, []],
  ])('%s', (_, prompt, expected) => {
    expect(tokenPrompts({ prompt })).toEqual(expected);
  });

  it.each([
    ['half a token', [1, 0.5], '400 invalid_type prompt[1]'],
    ['a text among the tokens', [1, 'a'], '400 invalid_type prompt[1]'],
    ['an empty prompt', [[1], []], '400 invalid_value prompt[1]'],
    ['too many', Array.from({ length: 1_000_001 }, () => 1), '400 invalid_value prompt'],
  ])('%s is rejected', (_, prompt, expected) => {
    expect(promptRefusalOf(() => tokenPrompts({ prompt }))).toBe(expected);
  });

  it('are replaced by texts in the body', () => {
    const body = { model: 'm', prompt: [[1], [2]] };
    expect(withTexts(body, tokenPrompts(body), ['a', ''])).toEqual({ model: 'm', prompt: ['a', ''] });
    expect(promptRefusalOf(() => withTexts(body, tokenPrompts(body), ['a', null]))).toBe(
      '400 invalid_value prompt[1]',
    );
  });
});
