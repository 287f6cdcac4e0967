import type { BackendTarget } from '../home/backend.ts';

/** Everything that the relay may set on a model request, by its Responses API name. */
export type EditField =
  | 'temperature'
  | 'top_p'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'seed'
  | 'top_logprobs'
  | 'truncation'
  | 'context_management'
  | 'metadata'
  | 'client_metadata'
  | 'user'
  | 'safety_identifier'
  | 'prompt_cache_key'
  | 'prompt_cache_retention'
  | 'prompt_cache_options'
  | 'access_programs'
  | 'image'
  | 'include'
  | 'tool_choice'
  | 'reasoning.context'
  | 'reasoning.mode'
  | 'text.verbosity'
  | 'text.format'
  | 'max_output_tokens'
  | 'max_tool_calls'
  | 'service_tier'
  /** The value of `include` that codex always requests. */
  | 'reasoning.encrypted_content'
  | 'tools'
  | 'parallel_tool_calls'
  | 'system_role'
  | 'image_detail'
  /** File parts of messages. */
  | 'input_file'
  /** In any input part. */
  | 'prompt_cache_breakpoint'
  /** Additional fields of calls and their outputs, such as `caller`. */
  | 'call_fields'
  /** The item that requests a compaction. */
  | 'compaction_trigger';

const FIELDS: Readonly<Record<EditField, true>> = {
  temperature: true,
  top_p: true,
  presence_penalty: true,
  frequency_penalty: true,
  seed: true,
  top_logprobs: true,
  truncation: true,
  context_management: true,
  metadata: true,
  client_metadata: true,
  user: true,
  safety_identifier: true,
  prompt_cache_key: true,
  prompt_cache_retention: true,
  prompt_cache_options: true,
  access_programs: true,
  image: true,
  include: true,
  tool_choice: true,
  'reasoning.context': true,
  'reasoning.mode': true,
  'text.verbosity': true,
  'text.format': true,
  max_output_tokens: true,
  max_tool_calls: true,
  service_tier: true,
  'reasoning.encrypted_content': true,
  tools: true,
  parallel_tool_calls: true,
  system_role: true,
  image_detail: true,
  input_file: true,
  prompt_cache_breakpoint: true,
  call_fields: true,
  compaction_trigger: true,
};

export const EDIT_FIELDS = Object.keys(FIELDS) as readonly EditField[];

/** Plain parameters, which operators may list in `PROXY_UPSTREAM_PARAMS`. */
export const PLAIN_PARAMETERS: ReadonlySet<EditField> = new Set([
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'top_logprobs',
  'truncation',
  'context_management',
  'metadata',
  'client_metadata',
  'user',
  'safety_identifier',
  'prompt_cache_retention',
  'prompt_cache_options',
  'access_programs',
  'image',
  'max_output_tokens',
  'max_tool_calls',
]);

/** Fields that the backend of a ChatGPT login rejects with a 400. */
const CHATGPT_REFUSES: ReadonlySet<EditField> = new Set<EditField>([
  ...[...PLAIN_PARAMETERS].filter((field) => field !== 'client_metadata'),
  // It rejects `system` messages; they are sent as `developer`, which has the same rank.
  'system_role',
  'prompt_cache_breakpoint',
  // codex never sends these, so it is unknown whether the backend accepts them.
  'input_file',
  'reasoning.mode',
  'call_fields',
]);

/** What a backend accepts. Unknown backends are assumed to accept a field until they refuse it. */
export interface BackendProfile {
  readonly takes: ReadonlySet<EditField>;
  /** Accepted service tiers; null: any. */
  readonly tiers: ReadonlySet<string> | null;
  /** Whether it fetches images by URL. */
  readonly takesImageUrls: boolean;
  /** Whether it rejects a Responses request without `instructions`. */
  readonly requiresInstructions: boolean;
  /** Whether it is codex's own backend, with its rules for conversation ids. */
  readonly isChatgpt: boolean;
}

/**
 * `override` is PROXY_UPSTREAM_PARAMS: the parameters that the backend accepts according to its operator.
 * Fields that carry the meaning of the request are always set.
 */
export const profileOf = (backend: BackendTarget, override: readonly string[] | null): BackendProfile => {
  const isChatgpt = backend.kind === 'login' && backend.login === 'chatgpt';
  const standard = EDIT_FIELDS.filter(
    (field) => !(isChatgpt && CHATGPT_REFUSES.has(field)) && (field !== COMPACTION || isOpenai(backend)),
  );
  return {
    takes: overridden(standard, override),
    tiers: isChatgpt ? new Set(['priority']) : null,
    // The backend of a ChatGPT login hangs or fails on image URLs.
    takesImageUrls: !isChatgpt,
    requiresInstructions: isChatgpt,
    isChatgpt,
  };
};

/**
 * Sent only to backends known to support it: others silently ignore it and answer the conversation instead.
 */
const COMPACTION = 'compaction_trigger';

const isOpenai = (backend: BackendTarget): boolean => {
  if (backend.kind !== 'upstream') return backend.kind === 'login';
  const { hostname } = URL.parse(backend.baseUrl) ?? { hostname: '' };
  return hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
};

/** The fields that operators may list. */
export const LISTED_PARAMETERS: ReadonlySet<EditField> = new Set([...PLAIN_PARAMETERS, COMPACTION]);

const overridden = (
  standard: readonly EditField[],
  override: readonly string[] | null,
): ReadonlySet<EditField> => {
  if (override === null) return new Set(standard);
  const always = standard.filter((field) => !PLAIN_PARAMETERS.has(field));
  if (override.includes('all')) return new Set([...always, ...LISTED_PARAMETERS]);
  return new Set([...always, ...[...LISTED_PARAMETERS].filter((field) => override.includes(field))]);
};
