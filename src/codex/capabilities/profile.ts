import type { BackendTarget } from '../home/backend.ts';

/** Plain parameters, which operators may list in `PROXY_UPSTREAM_PARAMS`. */
const PLAIN = [
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
] as const;

/** Everything else that the relay may set on a model request, by its Responses API name. */
const OTHERS = [
  'prompt_cache_key',
  'include',
  'tool_choice',
  'reasoning.context',
  'reasoning.mode',
  'text.verbosity',
  'text.format',
  'service_tier',
  // The value of `include` that codex always requests.
  'reasoning.encrypted_content',
  'tools',
  'parallel_tool_calls',
  'system_role',
  'image_detail',
  // File parts of messages.
  'input_file',
  // In any input part.
  'prompt_cache_breakpoint',
  // Additional fields of calls and their outputs, such as `caller`.
  'call_fields',
  // The item that requests a compaction.
  'compaction_trigger',
  // The item that declares tools in the middle of a conversation.
  'additional_tools',
] as const;

export type EditField = (typeof PLAIN)[number] | (typeof OTHERS)[number];
export const EDIT_FIELDS: readonly EditField[] = [...PLAIN, ...OTHERS];
export const PLAIN_PARAMETERS: ReadonlySet<EditField> = new Set(PLAIN);

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
  // It accepts tools in one place only.
  'additional_tools',
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
    (field) => !(isChatgpt && CHATGPT_REFUSES.has(field)) && (!OPENAI_ITEMS.has(field) || isOpenai(backend)),
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

/** Items that are sent only to backends known to support them: others may silently ignore them. */
const OPENAI_ITEMS: ReadonlySet<EditField> = new Set(['compaction_trigger', 'additional_tools']);

const isOpenai = (backend: BackendTarget): boolean => {
  if (backend.kind !== 'upstream') return backend.kind === 'login';
  const { hostname } = URL.parse(backend.baseUrl) ?? { hostname: '' };
  return hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
};

/** The fields that operators may list. */
export const LISTED_PARAMETERS: ReadonlySet<EditField> = new Set([...PLAIN_PARAMETERS, ...OPENAI_ITEMS]);

const overridden = (
  standard: readonly EditField[],
  override: readonly string[] | null,
): ReadonlySet<EditField> => {
  if (override === null) return new Set(standard);
  const always = standard.filter((field) => !PLAIN_PARAMETERS.has(field));
  if (override.includes('all')) return new Set([...always, ...LISTED_PARAMETERS]);
  return new Set([...always, ...[...LISTED_PARAMETERS].filter((field) => override.includes(field))]);
};

/** The backend's name of a tier; null if it has no such tier. */
export const backendTier = (tier: string | null, { tiers }: BackendProfile): string | null => {
  if (tier === null || tiers === null) return tier;
  const name = tier === 'fast' ? 'priority' : tier;
  return tiers.has(name) ? name : null;
};

/** Tiers that select the default. */
const DEFAULT_TIERS: ReadonlySet<string> = new Set(['auto', 'default']);

/** Whether the caller would notice a different tier. */
export const isSpecialTier = (tier: string | null): boolean => tier !== null && !DEFAULT_TIERS.has(tier);
