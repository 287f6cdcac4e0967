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
} from '../../shared/bounds.ts';
import {
  cacheFields,
  EFFORTS,
  metadata,
  modelName,
  REASONING_CONTEXTS,
  SERVICE_TIERS,
  SUMMARIES,
  VERBOSITIES,
} from '../../shared/field-schemas.ts';
import { responseFormat, textFormat } from './format.ts';

/**
 * `CreateResponse`. Every key needs a row in `parameters.ts`, which the compiler checks. Input items and tools have a
 * schema per type and are parsed one by one.
 */
export const createResponseSchema = z.object({
  model: modelName,
  input: z.union([longText, list(MAX_ITEMS)]),
  instructions: longText.nullish(),
  stream: z.boolean().nullish(),
  // Streams of this API always include usage, so Chat's `include_usage` has no effect.
  stream_options: z
    .object({ include_obfuscation: z.boolean().nullish(), include_usage: z.boolean().nullish() })
    .nullish(),
  tools: list(MAX_TOOLS).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  reasoning: z
    .object({
      effort: z.enum(EFFORTS).nullish(),
      summary: z.enum(SUMMARIES).nullish(),
      generate_summary: z.enum(SUMMARIES).nullish(),
      context: z.enum(REASONING_CONTEXTS).nullish(),
      mode: z.string().min(1).max(64).nullish(),
    })
    .nullish(),
  text: z.object({ format: textFormat.nullish(), verbosity: z.enum(VERBOSITIES).nullish() }).nullish(),
  response_format: responseFormat.nullish(),
  max_output_tokens: z.int().min(16).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  include: listOf(z.string(), MAX_WORDS).nullish(),
  service_tier: z.enum(SERVICE_TIERS).nullish(),
  metadata: metadata.nullish(),
  client_metadata: jsonObject.nullish(),
  user: z.string().nullish(),
  safety_identifier: z.string().max(64).nullish(),
  ...cacheFields,
  access_programs: jsonObject.nullish(),
  image: jsonObject.nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  conversation: z.union([z.string(), jsonObject]).nullish(),
  prompt: jsonObject.nullish(),
  moderation: jsonObject.nullish(),
  context_management: listOf(
    z.looseObject({ type: idText, compact_threshold: z.int().min(1000).nullish() }) as z.ZodType<JsonObject>,
    MAX_WORDS,
  ).nullish(),
});

export type CreateResponse = z.output<typeof createResponseSchema>;
