import { z } from 'zod';

import type { ParameterTable, ParameterNames } from '../../../apis/parameters.ts';
import {
  jsonObject,
  list,
  listOf,
  longText,
  MAX_INPUT_ITEMS,
  MAX_PARTS,
  MAX_STOP_CHARS,
  MAX_TOOLS,
  MAX_WORDS,
} from '../../../apis/bounds.ts';
import { effortWord } from './thinking.ts';
import { toolFieldPlace } from './mcp-servers.ts';
import type { Setting } from '../../../canonical/request/path.ts';

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
  messages: list(MAX_INPUT_ITEMS),
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

/** How each field of a Messages request is handled. A new field does not compile without a row. */
export const MESSAGES_PARAMETERS: ParameterTable<CreateMessage> = {
  model: {
    asks: ['model'],
    note: 'Every name with `claude` in it means a model of the backend (see http-api.md); the answer has the name that was asked for.',
  },
  max_tokens: { asks: ['maxOutputTokens'], note: 'Required.' },
  messages: { asks: ['items'], note: '' },
  system: {
    asks: ['items'],
    note: 'A system message in front of the conversation. A block that begins `x-anthropic-billing-header:` is left out.',
  },
  stream: { policy: 'mapped', note: '' },
  tools: { asks: ['tools'], note: '' },
  tool_choice: { asks: ['toolChoice', 'parallelToolCalls'], note: '' },
  thinking: {
    asks: ['reasoning.effort', 'reasoning.summary'],
    note: 'Without an effort, a budget below 4,096 tokens means `low`, below 16,384 `medium`, else `high`; `disabled` means the lowest effort of the model.',
  },
  output_config: {
    asks: ['reasoning.effort', 'format'],
    note: 'The effort of the last system message that has one comes first, and a model name with an effort before both. `max` means the highest effort of the model. A schema is strict if it has the form that OpenAI requires for it.',
  },
  output_format: { asks: ['format'], note: 'The older name of `output_config.format`.' },
  stop_sequences: { asks: ['stop'], note: '' },
  temperature: { asks: ['sampling.temperature'], note: '' },
  top_p: { asks: ['sampling.topP'], note: '' },
  top_k: { policy: 'ignored', note: 'A Responses backend has no field for it.' },
  speed: { asks: ['serviceTier'], note: '`fast` asks for the tier `priority`.' },
  service_tier: {
    policy: 'silent',
    note: 'No request uses a tier that it does not ask for, so both values mean what happens anyway.',
  },
  thread: {
    policy: 'mapped',
    note: 'The conversation is stored under the id of the answer. Needs the store; without it the error tells clients to send the whole conversation.',
  },
  metadata: {
    policy: 'mapped',
    note: 'Names the conversation if no header does. Never sent to the backend.',
  },
  context_management: {
    policy: 'ignored',
    note: 'The answer says that no edit was applied. Not named if it only says that all thinking is kept, which is what happens.',
  },
  cache_control: {
    policy: 'silent',
    note: 'Backends cache prompts without marks. It is accepted anywhere and never reaches the model.',
  },
  compaction: { policy: 'ignored', note: '' },
  container: { policy: 'rejected', note: 'This server has no containers.' },
  diagnostics: { policy: 'ignored', note: '' },
  fallback_credit_token: { policy: 'ignored', note: '' },
  fallbacks: { policy: 'ignored', note: '' },
  inference_geo: { policy: 'ignored', note: '' },
  mcp_servers: {
    asks: ['tools'],
    note: 'As tools of the type `mcp` in a Responses request, see mcp.md. One without a `url` is the server of the deployment with this `name`.',
  },
  user_profile_id: { policy: 'ignored', note: '' },
  workspace_id: { policy: 'ignored', note: '' },
};

/** Settings that only other APIs ask for keep the names of the middle. */
const MESSAGES_SETTINGS: Readonly<Record<Setting, string>> = {
  model: 'model',
  instructions: 'system',
  items: 'messages',
  tools: 'tools',
  toolChoice: 'tool_choice',
  parallelToolCalls: 'tool_choice.disable_parallel_tool_use',
  maxToolCalls: 'tools.max_uses',
  'reasoning.effort': 'output_config.effort',
  'reasoning.summary': 'thinking.display',
  'reasoning.context': 'thinking',
  'reasoning.mode': 'thinking',
  format: 'output_config.format',
  verbosity: 'verbosity',
  serviceTier: 'speed',
  maxOutputTokens: 'max_tokens',
  stop: 'stop_sequences',
  'sampling.temperature': 'temperature',
  'sampling.topP': 'top_p',
  'sampling.presencePenalty': 'presence_penalty',
  'sampling.frequencyPenalty': 'frequency_penalty',
  'sampling.seed': 'seed',
  include: 'include',
  'logprobs.top': 'top_logprobs',
  truncation: 'truncation',
  contextManagement: 'context_management',
  'cache.key': 'cache_control',
  'cache.retention': 'cache_control',
  'cache.options': 'cache_control',
  'cache.breakpoints': 'cache_control',
  callFields: 'caller',
  accessPrograms: 'access_programs',
  imageOptions: 'image',
  metadata: 'metadata',
  clientMetadata: 'metadata',
  user: 'metadata.user_id',
  safetyIdentifier: 'metadata.user_id',
};

interface Places {
  /** The location of each item in the body. */
  readonly places: readonly string[];
  /** The location of each part of an item, by the location of the item. */
  readonly partPlaces: ReadonlyMap<string, readonly string[]>;
  /** The location of the output format. */
  readonly formatPlace: string;
}

export const messagesNames = (
  { places, partPlaces, formatPlace }: Places,
  toolPlace: (index: number) => string = (index) => `tools[${index}]`,
): ParameterNames => ({
  settings: { ...MESSAGES_SETTINGS, format: formatPlace },
  places,
  tool: toolPlace,
  toolField: (index, field) => toolFieldPlace(toolPlace(index), field),
  // Blocks may be left out, and those around the result of a tool are another item, so the indexes differ.
  part: ({ item, part }) => partPlaces.get(places[item] ?? '')?.[part] ?? places[item] ?? 'messages',
  include: () => 'tools',
  formatPlace,
});
