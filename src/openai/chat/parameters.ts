import { z } from 'zod';

import type { ParameterRow, ParameterTable, ParameterNames } from '../../apis/parameters.ts';
import {
  jsonObject,
  list,
  listOf,
  longText,
  MAX_CHAT_TOOLS,
  MAX_INPUT_ITEMS,
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
import type { Setting } from '../../canonical/request/path.ts';
import { SHARED_SETTINGS } from '../shared/shared-settings.ts';
import type { ReadTools } from './tools.ts';

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
  messages: list(MAX_INPUT_ITEMS).nullish(),
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

const SILENT = 'The answer is the same without it.';
const LOGPROBS = 'Given where the backend gives them, else 400.';

/** Fields that chat, completions and responses handle alike. */
const TEXT_PARAMETERS = {
  model: {
    asks: ['model'],
    note: 'Sent to the backend; an alias such as `<model>-high` also sets the effort.',
  },
  temperature: { asks: ['sampling.temperature'], note: '0 to 2.' },
  top_p: { asks: ['sampling.topP'], note: '0 to 1.' },
  presence_penalty: { asks: ['sampling.presencePenalty'], note: '-2 to 2.' },
  frequency_penalty: { asks: ['sampling.frequencyPenalty'], note: '-2 to 2.' },
} as const satisfies Record<string, ParameterRow>;

/** Fields that chat and responses handle alike. */
export const CONVERSATION_PARAMETERS = {
  ...TEXT_PARAMETERS,
  tool_choice: { asks: ['toolChoice'], note: '' },
  parallel_tool_calls: { asks: ['parallelToolCalls'], note: '' },
  service_tier: { asks: ['serviceTier'], note: 'Sent to the backend.' },
  prompt_cache_options: { asks: ['cache.options'], note: 'Sent to the backend unchanged.' },
  moderation: { policy: 'ignored', note: 'No moderation is run here.' },
} as const satisfies Record<string, ParameterRow>;

/** Fields that chat and completions handle alike. */
export const CHOICE_PARAMETERS = {
  ...TEXT_PARAMETERS,
  stream: { policy: 'mapped', note: 'Chunks, or one JSON object built from the same events.' },
  stream_options: {
    policy: 'mapped',
    note: '`include_usage`. Nothing is obfuscated, so `include_obfuscation: true` is reported as ignored.',
  },
  n: {
    policy: 'emulated',
    note: '1 to 128 turns in parallel; the usage is summed, and one failure ends all. More than `PROXY_MAX_CONCURRENT_TURNS` gets a 400.',
  },
  stop: {
    asks: ['stop'],
    note: 'Up to 4 texts of up to 4,096 characters: the answer ends before the first match, with `finish_reason: stop`.',
  },
  seed: { asks: ['sampling.seed'], note: '' },
  logit_bias: {
    policy: 'ignored',
    note: '-100 to 100 per token id. A Responses backend has no field for it.',
  },
  user: { asks: ['user'], note: SILENT },
} as const satisfies Record<string, ParameterRow>;

/** How each field of a chat request is handled. A new field does not compile without a row. */
export const CHAT_PARAMETERS: ParameterTable<CreateChat> = {
  ...CONVERSATION_PARAMETERS,
  ...CHOICE_PARAMETERS,
  messages: {
    asks: ['items', 'cache.breakpoints'],
    note: 'Every message keeps its role, order, parts, call ids and argument strings. `name` has no field at the backend and is reported as ignored (the legacy role `function` uses it to find its call). `reasoning_content` and `reasoning` from earlier answers are not sent to the model. A body with `input` instead of `messages` is read as a Responses request and answered as a chat; a body with both gets a 400.',
  },
  prompt: {
    policy: 'mapped',
    note: 'The last user message of a request without one; otherwise it is reported as ignored. Without it, `messages` must have at least one message, of any role.',
  },
  max_tokens: {
    asks: ['maxOutputTokens'],
    note: 'As `max_completion_tokens`; both at once get a 400.',
  },
  max_completion_tokens: {
    asks: ['maxOutputTokens'],
    note: 'A truncated answer has `finish_reason: length`.',
  },
  response_format: {
    asks: ['format'],
    note: '`text`, `json_object`, `json_schema` (an invalid schema gets a 400). Commentary is removed from JSON answers.',
  },
  tools: {
    asks: ['tools'],
    note: 'Up to 128: functions, custom tools, and tools that the backend runs (`web_search` …). Hosted tools and other fields are sent to the backend unchanged; Chat shows only their citations. A tool may also have the form of the Responses API; calls of such a custom tool are sent as function calls whose `arguments` are the text. Tools that need a special answer from the client (`shell`, `computer` …) do not exist in Chat: 400 `unsupported_tool`.',
  },
  functions: {
    asks: ['tools'],
    note: 'The legacy form of `tools`: the answer has `function_call` and at most one call.',
  },
  function_call: { asks: ['toolChoice'], note: 'The legacy form of `tool_choice`.' },
  reasoning_effort: { asks: ['reasoning.effort'], note: '' },
  reasoning: {
    asks: ['reasoning.effort', 'reasoning.summary'],
    note: '`effort` as `reasoning_effort`; `summary` requests the summary, which is returned as both `reasoning_content` and `reasoning` (see `PROXY_CHAT_REASONING`). Models that show their reasoning itself, such as gpt-oss, have it there.',
  },
  verbosity: { asks: ['verbosity'], note: '' },
  logprobs: { asks: ['include'], otherwise: 'rejected', note: LOGPROBS },
  top_logprobs: { asks: ['logprobs.top'], otherwise: 'rejected', note: LOGPROBS },
  metadata: { asks: ['metadata'], note: SILENT },
  safety_identifier: { asks: ['safetyIdentifier'], note: SILENT },
  prompt_cache_key: {
    asks: ['cache.key'],
    note: 'Sent to the backend. Default: one key per conversation.',
  },
  prompt_cache_retention: { asks: ['cache.retention'], note: SILENT },
  store: {
    policy: 'mapped',
    note: 'With `true` the completion is stored, with its messages and `metadata`; default `false`. Reported as ignored with `PROXY_STORE=off`, and for a body with `input` in place of `messages`.',
  },
  modalities: { policy: 'rejected', note: 'Only text is answered: `audio` gets a 400.' },
  audio: { policy: 'ignored', note: 'Only text is answered.' },
  prediction: { policy: 'ignored', note: 'It would only speed up the answer.' },
  web_search_options: {
    asks: ['tools'],
    note: 'Becomes the hosted tool `web_search`; citations are returned as `annotations`.',
  },
};

export const CHAT_SETTINGS: Readonly<Record<Setting, string>> = {
  ...SHARED_SETTINGS,
  instructions: 'messages',
  items: 'messages',
  'reasoning.effort': 'reasoning_effort',
  format: 'response_format',
  verbosity: 'verbosity',
  maxOutputTokens: 'max_completion_tokens',
  include: 'logprobs',
};

/** The spelling of a chat request: some settings have two names. */
interface Spelling extends Pick<ReadTools, 'isLegacy' | 'webSearchAt' | 'placeOf'> {
  readonly places: readonly string[];
  /** The effort is in `reasoning`, as in the Responses API. */
  readonly hasReasoning: boolean;
}

export const chatNames = (spelling: Spelling): ParameterNames => {
  const { places, isLegacy, webSearchAt, hasReasoning, placeOf } = spelling;
  return {
    settings: {
      ...CHAT_SETTINGS,
      ...(isLegacy ? { tools: 'functions', toolChoice: 'function_call' } : {}),
      ...(hasReasoning ? { 'reasoning.effort': 'reasoning.effort' } : {}),
    },
    places,
    tool(index) {
      if (index === webSearchAt) return 'web_search_options';
      return isLegacy ? `functions[${index}]` : `tools[${index}]`;
    },
    toolField: (index, field) => `${placeOf(index)}.${field}`,
    formatPlace: 'response_format.json_schema',
    // In Chat, `include` can only request log probabilities.
    include: () => CHAT_SETTINGS.include,
  };
};
