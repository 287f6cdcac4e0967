import { z } from 'zod';

import { listOf, longText, MAX_ITEMS } from '../bounds.ts';
import { samplingFields } from '../chat/schema.ts';

/**
 * `CreateCompletionRequest`, the API before chat. Every key here needs a row in `parameters.ts`: the
 * compiler asks for it.
 */
export const createCompletionSchema = z.object({
  ...samplingFields,
  prompt: z.union([longText, listOf(longText, MAX_ITEMS)]),
  suffix: z.string().nullish(),
  echo: z.boolean().nullish(),
  best_of: z.int().min(0).max(20).nullish(),
  logprobs: z.int().min(0).max(5).nullish(),
});

export type CreateCompletion = z.output<typeof createCompletionSchema>;
