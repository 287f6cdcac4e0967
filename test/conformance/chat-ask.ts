import { APIError } from 'openai';

import type { TestProxy } from '../support/proxy.ts';

/** Requests of the chat tests, and the answers of the scripted model. */
export const HELLO = 'Hello from the scripted model.';
export const ask = { model: 'gpt-5.5', messages: [{ role: 'user' as const, content: 'hi' }] };
export const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 2, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 1,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};

export const failureOf = async (promise: PromiseLike<unknown>): Promise<APIError> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('it did not fail');
};

/** Waits until no turn runs upstream. */
export const untilIdle = async ({ model }: TestProxy): Promise<void> => {
  while (model.activeRequests() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
};
