import { z } from 'zod';

import { listOf, longText } from '../shared/bounds.ts';
import { samplingFields } from '../chat/schema.ts';

/** OpenAI's bound for the answers to one request; each of them is a turn. */
export const MAX_TURNS = 128;

/**
 * `CreateCompletionRequest`, the API before chat. Every key here needs a row in `parameters.ts`: the
 * compiler asks for it. Prompts of tokens have become texts before this is asked (`token-prompts.ts`).
 */
export const createCompletionSchema = z.object({
  ...samplingFields,
  /** Unlike Chat, this API may be asked for no output: a client wants the echo, or to count tokens. */
  max_tokens: z.int().min(0).nullish(),
  prompt: z.union([longText, listOf(longText, MAX_TURNS)]),
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  best_of: z.int().min(0).max(20).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
});

export type CreateCompletion = z.output<typeof createCompletionSchema>;
