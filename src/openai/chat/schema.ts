import { z } from 'zod';

import {
  jsonObject,
  list,
  listOf,
  longText,
  MAX_CHAT_TOOLS,
  MAX_ITEMS,
  MAX_PARTS,
  MAX_STOP_CHARS,
  MAX_STOPS,
  MAX_WORDS,
} from '../shared/bounds.ts';
import {
  cacheFields,
  EFFORTS,
  functionFields,
  metadata,
  modelName,
  SERVICE_TIERS,
  shortName,
  SUMMARIES,
  VERBOSITIES,
} from '../shared/field-schemas.ts';

/** OpenAI's limit. Each choice is a separate turn, so the server's admission limits apply too. */
const MAX_CHOICES = 128;

const stopText = z.string().min(1).max(MAX_STOP_CHARS);

const responseFormat = z.object({
  type: z.enum(['text', 'json_object', 'json_schema']),
  json_schema: z
    .object({
      name: shortName,
      description: z.string().nullish(),
      schema: jsonObject,
      strict: z.boolean().nullish(),
    })
    .nullish(),
});

/** Fields that Chat shares with legacy completions. */
export const samplingFields = {
  model: modelName,
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  max_tokens: z.int().min(1).nullish(),
  stop: z.union([stopText, listOf(stopText, MAX_STOPS)]).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  seed: z.int().nullish(),
  logit_bias: z
    .record(z.string().regex(/^\d+$/, 'expected token ids as keys.'), z.number().min(-100).max(100))
    .nullish(),
  user: z.string().nullish(),
} as const;

/**
 * `CreateChatCompletionRequest`. Every key needs a row in `parameters.ts`, which the compiler checks. Messages and tools
 * have a schema per type and are parsed one by one.
 */
export const createChatSchema = z.object({
  ...samplingFields,
  messages: list(MAX_ITEMS).nullish(),
  /** Not OpenAI's: the user message of clients that send no messages. */
  prompt: longText.nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  response_format: responseFormat.nullish(),
  tools: list(MAX_CHAT_TOOLS).nullish(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  functions: listOf(z.object(functionFields), MAX_CHAT_TOOLS, 1).nullish(),
  function_call: z.union([z.enum(['none', 'auto']), z.object({ name: z.string().min(1) })]).nullish(),
  reasoning_effort: z.enum(EFFORTS).nullish(),
  reasoning: z.object({ effort: z.enum(EFFORTS).nullish(), summary: z.enum(SUMMARIES).nullish() }).nullish(),
  verbosity: z.enum(VERBOSITIES).nullish(),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  service_tier: z.enum(SERVICE_TIERS).nullish(),
  metadata: metadata.nullish(),
  store: z.boolean().nullish(),
  safety_identifier: z.string().max(64).nullish(),
  ...cacheFields,
  modalities: listOf(z.enum(['text', 'audio']), MAX_WORDS).nullish(),
  audio: jsonObject.nullish(),
  prediction: z
    .object({
      type: z.literal('content'),
      content: z.union([
        longText,
        listOf(z.object({ type: z.literal('text'), text: longText }), MAX_PARTS, 1),
      ]),
    })
    .nullish(),
  web_search_options: z
    .object({
      search_context_size: z.enum(['low', 'medium', 'high']).nullish(),
      user_location: z.object({ type: z.literal('approximate'), approximate: jsonObject }).nullish(),
    })
    .nullish(),
  moderation: jsonObject.nullish(),
});

export type CreateChat = z.output<typeof createChatSchema>;
