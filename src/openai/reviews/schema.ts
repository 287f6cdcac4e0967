import { z } from 'zod';

import { longText, MAX_ID_CHARS } from '../../apis/bounds.ts';

/** A request to codex's reviewer. This API is our own. */
export const createReviewSchema = z.object({
  model: z.string().min(1).max(MAX_ID_CHARS).nullish(),
  instructions: longText.nullish(),
  input: longText.nullish(),
  target: z.object({ type: z.string().max(MAX_ID_CHARS), instructions: longText.nullish() }).nullish(),
  reasoning: z.object({ effort: z.string().min(1).max(MAX_ID_CHARS).nullish() }).nullish(),
  stream: z.boolean().nullish(),
});

export type CreateReview = z.output<typeof createReviewSchema>;
