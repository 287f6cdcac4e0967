import { z } from 'zod';

import { jsonObject, longText } from '../../apis/bounds.ts';
import { EFFORTS } from '../../canonical/models/model-names.ts';
import type { Part, FilePart, RawPart } from '../../canonical/request/item.ts';
import { type JsonObject, isJsonObject, present } from '../../kit/json/json.ts';
import type { CacheSettings, Sampling } from '../../canonical/request/turn-request.ts';
import { missing } from '../../apis/validation.ts';

/** Schemas of fields that several APIs share. */
const SUMMARIES = ['auto', 'concise', 'detailed'] as const;
const SERVICE_TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'] as const;
export const effort = z.enum(EFFORTS).nullish();
export const summary = z.enum(SUMMARIES).nullish();
export const verbosity = z.enum(['low', 'medium', 'high']).nullish();

/** The name of a function or of an output format. */
export const shortName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'expected letters, digits, underscores and dashes, at most 64 characters.');

export const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'expected at most 16 keys.');

/** Limited because it goes into logs. */
const modelName = z.string().min(1).max(256);

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
const cacheFields = {
  prompt_cache_key: z.string().nullish(),
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
  prompt_cache_options: jsonObject.nullish(),
} as const;
type CacheFields = z.output<z.ZodObject<typeof cacheFields>>;

const samplingFields = {
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
} as const;
type SamplingFields = z.output<z.ZodObject<typeof samplingFields>>;

/** Fields of every API that answers with text. */
export const textFields = {
  model: modelName,
  stream: z.boolean().nullish(),
  stream_options: z
    .object({ include_usage: z.boolean().nullish(), include_obfuscation: z.boolean().nullish() })
    .nullish(),
  ...samplingFields,
  user: z.string().nullish(),
} as const;

/** Fields that Chat and Responses share. */
export const conversationFields = {
  ...textFields,
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  service_tier: z.enum(SERVICE_TIERS).nullish(),
  metadata: metadata.nullish(),
  store: z.boolean().nullish(),
  safety_identifier: z.string().max(64).nullish(),
  ...cacheFields,
  moderation: jsonObject.nullish(),
} as const;

/** The field of a content part that ends a cached prompt prefix, in both APIs. */
const FIELD = 'prompt_cache_breakpoint';

export const breakpointField = { [FIELD]: jsonObject.nullish() } as const;

export const readBreakpoint = (parsed: {
  readonly [FIELD]?: JsonObject | null | undefined;
}): { cacheBreakpoint?: JsonObject } => (parsed[FIELD] ? { cacheBreakpoint: parsed[FIELD] } : {});

/** The field of a part that has a breakpoint. */
export const breakpointOf = (part: Part): JsonObject =>
  'cacheBreakpoint' in part && part.cacheBreakpoint !== undefined ? { [FIELD]: part.cacheBreakpoint } : {};

/** Removes breakpoints from an assistant's message, which backends do not accept, and adds them to `unread`. */
export const withoutBreakpoints = (parts: readonly Part[], at: string, unread: string[]): readonly Part[] =>
  parts.map((part, index) => {
    if (!('cacheBreakpoint' in part)) return part;
    unread.push(`${at}[${index}].${FIELD}`);
    const { cacheBreakpoint: _, ...rest } = part;
    return rest;
  });

type MaybeNumber = number | null | undefined;

/** A penalty of 0 is the default and not passed on. A temperature of 1 is, because some models have another default. */
export const readSampling = (body: SamplingFields & { readonly seed?: MaybeNumber }): Sampling => ({
  temperature: body.temperature ?? null,
  topP: body.top_p ?? null,
  presencePenalty: unlessZero(body.presence_penalty),
  frequencyPenalty: unlessZero(body.frequency_penalty),
  seed: body.seed ?? null,
});

export const readCache = (body: CacheFields): CacheSettings => ({
  key: body.prompt_cache_key ?? null,
  retention: body.prompt_cache_retention ?? null,
  options: body.prompt_cache_options ?? null,
});

/** For numbers whose default is 0. */
export const unlessZero = (value: MaybeNumber): number | null => (value === 0 ? null : (value ?? null));

/** Fields of a file in both APIs. */
export const fileFields = {
  file_data: z.string().nullish(),
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
} as const;

/** Parses a file. Whether the backend accepts it is checked later; its URL is not fetched. */
export const filePart = (parsed: RawPart, param: string): FilePart => {
  const { file_data: data, file_id: id, file_url: url } = parsed;
  if ([data, id, url].every((one) => typeof one !== 'string')) throw missing(param);
  const { prompt_cache_breakpoint: breakpoint, ...fields } = parsed;
  return {
    kind: 'file',
    raw: present(fields) as RawPart,
    ...readBreakpoint({ prompt_cache_breakpoint: isJsonObject(breakpoint) ? breakpoint : null }),
  };
};
