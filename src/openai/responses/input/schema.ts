import { z } from 'zod';

import type { JsonObject } from '../../../kit/json/json.ts';
import {
  idText,
  jsonObject,
  list,
  listOf,
  longText,
  MAX_ITEMS,
  MAX_TOOLS,
  MAX_WORDS,
} from '../../../apis/bounds.ts';
import { conversationFields, effort, summary, verbosity } from '../../shared/field-schemas.ts';
import { responseFormat, textFormat } from './format.ts';

/** `CreateResponse`. Every key needs a row in `parameters.ts`, which the compiler checks. */
export const createResponseSchema = z.object({
  ...conversationFields,
  input: z.union([longText, list(MAX_ITEMS)]).nullish(),
  instructions: longText.nullish(),
  tools: list(MAX_TOOLS).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  reasoning: z
    .object({
      effort,
      summary,
      generate_summary: summary,
      context: z.enum(['auto', 'current_turn', 'all_turns']).nullish(),
      mode: z.string().min(1).max(64).nullish(),
    })
    .nullish(),
  text: z.object({ format: textFormat.nullish(), verbosity }).nullish(),
  response_format: responseFormat.nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  include: listOf(z.string(), MAX_WORDS).nullish(),
  client_metadata: jsonObject.nullish(),
  access_programs: jsonObject.nullish(),
  image: jsonObject.nullish(),
  background: z.boolean().nullish(),
  previous_response_id: idText.nullish(),
  conversation: z.union([idText, z.object({ id: idText })]).nullish(),
  prompt: jsonObject.nullish(),
  context_management: listOf(
    z.looseObject({ type: idText, compact_threshold: z.int().min(1000).nullish() }) as z.ZodType<JsonObject>,
    MAX_WORDS,
  ).nullish(),
});

export type CreateResponse = z.output<typeof createResponseSchema>;
