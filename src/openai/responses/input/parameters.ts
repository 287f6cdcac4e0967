import { z } from 'zod';

import { CONVERSATION_PARAMETERS } from '../../chat/parameters.ts';
import type { ParameterTable, ParameterNames } from '../../../apis/parameters.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import {
  idText,
  jsonObject,
  list,
  listOf,
  longText,
  MAX_INPUT_ITEMS,
  MAX_TOOLS,
  MAX_WORDS,
} from '../../../apis/bounds.ts';
import { conversationFields, effort, summary, verbosity } from '../../shared/field-schemas.ts';
import { responseFormat, textFormat, type ReadFormat } from './format.ts';
import type { Setting } from '../../../canonical/request/path.ts';
import { quoted } from '../../../kit/text/display.ts';
import { SHARED_SETTINGS } from '../../shared/shared-settings.ts';
import type { ToolForm } from '../../shared/read-tools.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';

/** `CreateResponse`. Every key needs a row in `parameters.ts`, which the compiler checks. */
export const createResponseSchema = z.object({
  ...conversationFields,
  input: z.union([longText, list(MAX_INPUT_ITEMS)]).nullish(),
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

const ECHO = 'Always echoed in the response.';

/** How each field of `CreateResponse` is handled. A new field does not compile without a row. */
export const RESPONSES_PARAMETERS: ParameterTable<CreateResponse> = {
  ...CONVERSATION_PARAMETERS,
  input: {
    asks: ['items', 'cache.breakpoints', 'callFields'],
    note: 'A text or up to 10,000 items. Every item keeps its type, role, order, id and argument string.',
  },
  instructions: { asks: ['instructions'], note: '' },
  stream: {
    policy: 'mapped',
    note: 'Typed server-sent events, or one JSON object built from the same events. `POST /v1/responses/compact` rejects `true`.',
  },
  stream_options: {
    policy: 'ignored',
    note: 'Nothing is obfuscated, so `include_obfuscation: true` has no effect. `include_usage` of Chat is accepted: the last event always has the usage.',
  },
  tools: {
    asks: ['tools'],
    note: 'Up to 1,024: functions with their schema and `strict`, custom tools, namespaces, and tools of any other type. All their fields are sent to the backend unchanged. Tools in items (`additional_tools`, `tool_search_output`) count too. The backend rejects tools that it does not support.',
  },
  max_tool_calls: {
    asks: ['maxToolCalls'],
    note: 'Limits the calls that the backend runs, such as web searches, and calls of MCP servers configured here. Functions of the client do not count.',
  },
  reasoning: {
    asks: ['reasoning.effort', 'reasoning.summary', 'reasoning.context', 'reasoning.mode'],
    note: '`effort`, `summary` (or the legacy `generate_summary`), `context` and `mode`. The response has the effort in force, which is the default of the model if none was sent.',
  },
  text: {
    asks: ['format', 'verbosity'],
    note: '`format` with its name, description and strictness; `verbosity`.',
  },
  response_format: {
    asks: ['format'],
    note: "Chat's name for `text.format`, in Chat's form or in that of `text.format`. If both are sent, they must be equal.",
  },
  max_output_tokens: { asks: ['maxOutputTokens'], note: 'A truncated answer has `status: incomplete`.' },
  top_logprobs: {
    asks: ['logprobs.top'],
    note: '0 to 20; request them with `include: ["message.output_text.logprobs"]`.',
  },
  truncation: {
    asks: ['truncation'],
    note: '`auto`, if the backend supports it; otherwise an input that is too long is an error.',
  },
  include: {
    asks: ['include'],
    note: '`reasoning.encrypted_content` is always mapped; other values are reported one by one.',
  },
  metadata: { asks: ['metadata'], otherwise: 'echoed', note: ECHO },
  client_metadata: {
    asks: ['clientMetadata'],
    note: 'Metadata that codex sends about its turns. Not part of the public API, but OpenAI accepts it from codex.',
  },
  user: { asks: ['user'], otherwise: 'echoed', note: ECHO },
  safety_identifier: { asks: ['safetyIdentifier'], otherwise: 'echoed', note: ECHO },
  prompt_cache_key: {
    asks: ['cache.key'],
    otherwise: 'echoed',
    note: 'Sent to the backend, and echoed in the response. Default: one key per conversation.',
  },
  prompt_cache_retention: { asks: ['cache.retention'], otherwise: 'echoed', note: ECHO },
  access_programs: { asks: ['accessPrograms'], note: 'Sent to the backend unchanged.' },
  image: { asks: ['imageOptions'], note: 'Sent to the backend unchanged.' },
  store: {
    policy: 'mapped',
    note: 'Default `true`. The response shows the effective value: with `PROXY_STORE=off`, or if the store is unavailable, `false`.',
  },
  background: {
    policy: 'mapped',
    note: 'Answered at once with `status: queued`; the response runs without the client and can be retrieved, streamed and cancelled. Rejected with `PROXY_STORE=off`. With `store: false` it is kept for ten minutes after its end.',
  },
  previous_response_id: {
    policy: 'mapped',
    note: 'The stored conversation up to that response comes before the input. Not with `conversation`.',
  },
  conversation: {
    policy: 'mapped',
    note: 'The items of the conversation come before the input; input and output are added to it when the response has ended. Not with `previous_response_id`.',
  },
  prompt: { policy: 'rejected', note: 'Prompt templates are stored at OpenAI and cannot be read from here.' },
  context_management: {
    asks: ['contextManagement'],
    note: 'Sent to the backend unchanged. A `compaction` item in its answer is returned unchanged, and can be sent back.',
  },
};

const SETTINGS: Readonly<Record<Setting, string>> = {
  ...SHARED_SETTINGS,
  instructions: 'instructions',
  items: 'input',
  'reasoning.effort': 'reasoning.effort',
  format: 'text.format',
  verbosity: 'text.verbosity',
  maxOutputTokens: 'max_output_tokens',
  include: 'include',
};

interface Spelling {
  readonly places: readonly string[];
  /** The location of a tool in the body. */
  readonly placeOf: ToolForm['placeOf'];
  /** The name of the output format; default: that of this API. */
  readonly format?: Pick<ReadFormat, 'param' | 'place'>;
}

const OWN_FORMAT: Spelling['format'] & object = { param: 'text.format', place: 'text.format' };

export const responsesNames = ({ places, placeOf, format = OWN_FORMAT }: Spelling): ParameterNames => ({
  settings: { ...SETTINGS, format: format.param },
  formatPlace: format.place,
  places,
  tool: (index) => `tools[${index}]`,
  toolField: (index, field) => `${placeOf(index)}.${field}`,
  include: (value) => `include.${quoted(value)}`,
});

/** A field of Chat Completions that the Responses API does not have. */
interface ChatField {
  readonly code: 'unsupported_parameter' | 'unsupported_value';
  /** The reason, for the error message and the docs. */
  readonly why: string;
  /** A value without effect, which is accepted. Null always is. */
  readonly accepted?: number;
}

const moved = (target: string): ChatField => ({
  code: 'unsupported_parameter',
  why: `In the Responses API, this parameter has moved to '${target}'.`,
});

/** Chat fields that are rejected, as OpenAI does, because a client that sends one expects an effect. */
export const CHAT_FIELDS: Readonly<Record<string, ChatField>> = {
  messages: moved('input'),
  max_tokens: moved('max_output_tokens'),
  max_completion_tokens: moved('max_output_tokens'),
  reasoning_effort: moved('reasoning.effort'),
  verbosity: moved('text.verbosity'),
  n: { code: 'unsupported_value', why: "'n' must be 1 in the Responses API.", accepted: 1 },
};

const START = {
  unsupported_parameter: (name: string) => `Unsupported parameter: '${name}'. `,
  unsupported_value: () => 'Unsupported value: ',
} as const;

/** Throws if the body has one of these fields with another value. */
export const rejectChatFields = (body: JsonObject): void => {
  for (const [name, { code, why, accepted }] of Object.entries(CHAT_FIELDS)) {
    const value = body[name] ?? null;
    if (value === null || value === accepted) continue;
    throw gatewayError(code, { param: name, message: `${START[code](name)}${why}` });
  }
};

/** Whether a field is in this table, so that it is not reported as ignored. */
export const isChatField = (name: string): boolean => Object.hasOwn(CHAT_FIELDS, name);

/** The Markdown table of these fields for `docs/parameters.md`. */
export const describeChatFields = (): string =>
  [
    '| field | accepted values | otherwise 400 | message |',
    '|---|---|---|---|',
    ...Object.entries(CHAT_FIELDS).map(([name, { code, why, accepted }]) => {
      const values = ['`null`', ...(accepted === undefined ? [] : [`\`${accepted}\``])].join(', ');
      return `| \`${name}\` | ${values} | \`${code}\` | ${why} |`;
    }),
    '',
  ].join('\n');
