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
} from '../../apis/bounds.ts';
import {
  conversationFields,
  effort,
  functionFields,
  shortName,
  summary,
  textFields,
  verbosity,
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
export const completionFields = {
  ...textFields,
  n: z.int().min(1).max(MAX_CHOICES).nullish(),
  max_tokens: z.int().min(1).nullish(),
  stop: z.union([stopText, listOf(stopText, MAX_STOPS)]).nullish(),
  seed: z.int().nullish(),
  logit_bias: z
    .record(z.string().regex(/^\d+$/, 'expected token ids as keys.'), z.number().min(-100).max(100))
    .nullish(),
} as const;

/** `CreateChatCompletionRequest`. Every key needs a row in `parameters.ts`, which the compiler checks. */
export const createChatSchema = z.object({
  ...conversationFields,
  ...completionFields,
  messages: list(MAX_ITEMS).nullish(),
  /** Not OpenAI's: the user message of clients that send no messages. */
  prompt: longText.nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  response_format: responseFormat.nullish(),
  tools: list(MAX_CHAT_TOOLS).nullish(),
  functions: listOf(z.object(functionFields), MAX_CHAT_TOOLS, 1).nullish(),
  function_call: z.union([z.enum(['none', 'auto']), z.object({ name: z.string().min(1) })]).nullish(),
  reasoning_effort: effort,
  reasoning: z.object({ effort, summary }).nullish(),
  verbosity,
  logprobs: z.boolean().nullish(),
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
});

export type CreateChat = z.output<typeof createChatSchema>;
