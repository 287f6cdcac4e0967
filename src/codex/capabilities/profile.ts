import type { BackendTarget } from '../home/backend.ts';

/** Everything that the relay may set on a model request, by the names of the Responses API. */
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
  /** The value of `include` that codex asks for by itself. */
  | 'reasoning.encrypted_content'
  | 'tools'
  | 'parallel_tool_calls'
  | 'system_role'
  | 'image_detail'
  /** Parts of a message that are files. */
  | 'input_file'
  /** In any part of the input. */
  | 'prompt_cache_breakpoint'
  /** Further fields of calls and of their outputs, such as `caller`. */
  | 'call_fields'
  /** The item that asks for a compaction. */
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

/** The plain parameters, which an operator may list. */
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

/** What the backend of a ChatGPT login refuses with a 400. */
const CHATGPT_REFUSES: ReadonlySet<EditField> = new Set<EditField>([
  ...[...PLAIN_PARAMETERS].filter((field) => field !== 'client_metadata'),
  // It takes no messages of role `system`; as `developer` they have the same rank.
  'system_role',
  'prompt_cache_breakpoint',
  // codex never sends these, so nobody knows.
  'input_file',
  'reasoning.mode',
  'call_fields',
]);

/** What a backend takes. Those that are not known are asked, and what they refuse is remembered. */
export interface BackendProfile {
  readonly takes: ReadonlySet<EditField>;
  /** The service tiers that it takes; null: any. */
  readonly tiers: ReadonlySet<string> | null;
  /** It fetches images that a request names by URL. */
  readonly takesImageUrls: boolean;
  /** It refuses a plain request that has no `instructions`. */
  readonly requiresInstructions: boolean;
  /** Its rules for a conversation's identity are those of codex's own backend. */
  readonly isChatgpt: boolean;
}

/**
 * `override` is PROXY_UPSTREAM_PARAMS: the fields that the backend takes, as its operator knows.
 * What is no parameter but belongs to the meaning of the request is set all the same.
 */
export const profileOf = (backend: BackendTarget, override: readonly string[] | null): BackendProfile => {
  const isChatgpt = backend.kind === 'login' && backend.login === 'chatgpt';
  const standard = EDIT_FIELDS.filter(
    (field) => !(isChatgpt && CHATGPT_REFUSES.has(field)) && (field !== COMPACTION || isOpenai(backend)),
  );
  return {
    takes: overridden(standard, override),
    tiers: isChatgpt ? new Set(['priority']) : null,
    // The service behind a ChatGPT login hangs or fails on them.
    takesImageUrls: !isChatgpt,
    requiresInstructions: isChatgpt,
    isChatgpt,
  };
};

/** Others that know nothing of it leave it out without a word, and answer the conversation: so they are not tried. */
const COMPACTION = 'compaction_trigger';

const isOpenai = (backend: BackendTarget): boolean => {
  if (backend.kind !== 'upstream') return backend.kind === 'login';
  const { hostname } = URL.parse(backend.baseUrl) ?? { hostname: '' };
  return hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
};

/** What an operator may list. */
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
