import { describe, expect, it } from 'vitest';

import { knownModel } from '../../test/support/models.ts';
import { failure } from '../canonical/failure/failure.ts';
import { restateFailure } from './restate-failure.ts';

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
