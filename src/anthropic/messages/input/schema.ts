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
import { effortWord } from './thinking.ts';

const format = z.object({ type: z.literal('json_schema'), schema: jsonObject }).nullish();
/** A field that this server does not read. */
const unused = z.unknown().optional();

const stopSequence = z
  .string()
  .max(MAX_STOP_CHARS)
  .refine((text) => text.trim() !== '', 'each stop sequence must contain non-whitespace');

/** Anthropic's limit. */
const MAX_MCP_SERVERS = 20;

/** The body of `POST /v1/messages`. Every key needs a row in `parameters.ts`, which the compiler checks. */
export const createMessageSchema = z.object({
  // Limited because it goes into logs.
  model: z.string().min(1).max(256),
  max_tokens: z.int().min(0).nullish(),
  messages: list(MAX_ITEMS),
  system: z.union([longText, list(MAX_PARTS)]).nullish(),
  stream: z.boolean().nullish(),
  tools: list(MAX_TOOLS).nullish(),
  tool_choice: jsonObject.nullish(),
  thinking: jsonObject.nullish(),
  output_config: z.object({ effort: effortWord.nullish(), format }).nullish(),
  output_format: format,
  stop_sequences: listOf(stopSequence, MAX_WORDS).nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  speed: z.enum(['standard', 'fast']).nullish(),
  service_tier: z.enum(['auto', 'standard_only']).nullish(),
  thread: jsonObject.nullish(),
  metadata: z.object({ user_id: longText.nullish() }).nullish(),
  context_management: z.object({ edits: listOf(jsonObject, MAX_WORDS).nullish() }).nullish(),
  cache_control: unused,
  compaction: unused,
  container: unused,
  diagnostics: unused,
  fallback_credit_token: unused,
  fallbacks: unused,
  inference_geo: unused,
  mcp_servers: list(MAX_MCP_SERVERS).nullish(),
  user_profile_id: unused,
  workspace_id: unused,
});

export type CreateMessage = z.output<typeof createMessageSchema>;
