import { z } from 'zod';

import {
  jsonObject,
  list,
  listOf,
  longText,
  MAX_ITEMS,
  MAX_PARTS,
  MAX_STOP_CHARS,
  MAX_TOOLS,
  MAX_WORDS,
} from '../../../apis/bounds.ts';

/** The body of `POST /v1/messages`. Every key needs a row in `parameters.ts`, which the compiler checks. */
export const createMessageSchema = z.object({
  model: z.string().min(1),
  max_tokens: z.int().min(0).nullish(),
  messages: list(MAX_ITEMS),
  system: z.union([longText, list(MAX_PARTS)]).nullish(),
  stream: z.boolean().nullish(),
  tools: list(MAX_TOOLS).nullish(),
  tool_choice: jsonObject.nullish(),
  thinking: jsonObject.nullish(),
  output_config: jsonObject.nullish(),
  stop_sequences: listOf(z.string().max(MAX_STOP_CHARS), MAX_WORDS).nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  metadata: z.object({ user_id: longText.nullish() }).nullish(),
});

export type CreateMessage = z.output<typeof createMessageSchema>;
