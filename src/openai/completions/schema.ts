import { z } from 'zod';

import { listOf, longText } from '../../apis/bounds.ts';
import { completionFields } from '../chat/schema.ts';

/** OpenAI's limit on choices per request. Each one is a turn. */
export const MAX_TURNS = 128;

/**
 * `CreateCompletionRequest`, the legacy API. Every key needs a row in `parameters.ts`, which the compiler checks. Token
 * prompts are already replaced by texts (`token-prompts.ts`).
 */
export const createCompletionSchema = z.object({
  ...completionFields,
  /** Unlike Chat, this API allows 0: for the echo only, or to count tokens. */
  max_tokens: z.int().min(0).nullish(),
  prompt: z.union([longText, listOf(longText, MAX_TURNS)]),
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  best_of: z.int().min(0).max(20).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
});

export type CreateCompletion = z.output<typeof createCompletionSchema>;
