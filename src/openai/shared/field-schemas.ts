import { z } from 'zod';

import { jsonObject, longText } from './bounds.ts';

/** Schemas of fields that several APIs share. */
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;
export const SUMMARIES = ['auto', 'concise', 'detailed'] as const;
export const REASONING_CONTEXTS = ['auto', 'current_turn', 'all_turns'] as const;
export const SERVICE_TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'] as const;
export const VERBOSITIES = ['low', 'medium', 'high'] as const;

/** The name of a function or of an output format. */
export const shortName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'expected letters, digits, underscores and dashes, at most 64 characters.');

export const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'expected at most 16 keys.');

/** Limited because it goes into logs. */
export const modelName = z.string().min(1).max(256);

/** The declaration of a function. Chat nests it one level deeper than Responses. */
export const functionFields = {
  name: shortName,
  description: longText.nullish(),
  parameters: jsonObject.nullish(),
  strict: z.boolean().nullish(),
} as const;

/** The declaration of a custom tool, whose input is free-form text. */
export const customFields = {
  name: shortName,
  description: longText.nullish(),
  format: jsonObject.nullish(),
} as const;

/** Prompt caching. */
export const cacheFields = {
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  prompt_cache_options: jsonObject.nullish(),
} as const;
