import type { JsonObject } from '../../src/kit/json/json.ts';

/**
 * What a test may change while the backend runs: `backend.settings.x = …`; `reset()` restores the defaults.
 */
export interface Settings {
  /** What `/codex/models` lists, including which models use the codex format. */
  models: readonly JsonObject[];
  /** Accepted though not listed. */
  unlistedModels: ReadonlySet<string>;
  /** Listed, but not for this account. */
  modelsNotInPlan: ReadonlySet<string>;
  /** The oldest accepted `version`. */
  oldestVersion: string;

  /**
   * `always` was observed with other clients. codex 0.166 itself sends none, but a developer message first,
   * so the service must accept that in some cases: `or-developer-message`.
   */
  instructionsNeeded: 'always' | 'or-developer-message';
  emptyInstructions: 'present' | 'missing';
  /** False is answered with "Instructions are not valid". */
  isValidInstructions: (text: string) => boolean;
  namespaceOnCalls: 'taken' | 'refused';
  /** Encrypted reasoning accepted as this backend's own, besides what it issued. */
  ownEncrypted: ReadonlySet<string>;
  responsesFormatForCodexModels: 'open' | 'refused';
  codexFormat: 'open' | 'refused';
  /** Ids of disabled rules. */
  rulesOff: ReadonlySet<string>;

  /** How much of the primary window is used: on the 101 of an upgrade, and in every answer. */
  primaryUsedPercent: number;
  /** Every answer to a POST comes this much later. */
  sseDelayMs: number;
  /** Then the socket ends. */
  websocketMinutes: number;
  /** A message of this size or more closes its socket. */
  websocketMaxBytes: number;
  pingEveryMs: number;
  pongWithinMs: number;
  /** Whether answers on a socket tell the limits. */
  rateLimitFrames: boolean;

  attribution: boolean;
  settingsDelayMs: number;
  bundle: 'ok' | 'fails';
  modelsEndpoint: 'ok' | 'fails' | 'hangs';
  /** Whether the user has entered the code of a device login. */
  deviceLogin: 'pending' | 'approved';
  /** The check of an access token at its issuer. */
  tokenCheck: 'ok' | 'fails' | 'hangs';
  refresh: 'ok' | 'refresh_token_expired' | 'refresh_token_reused' | 'refresh_token_invalidated' | 'fails';
}

/** The fields of a model that codex needs, without its prompts. */
const model = (slug: string, more: JsonObject = {}): JsonObject => ({
  slug,
  display_name: slug,
  description: null,
  default_reasoning_level: 'low',
  supported_reasoning_levels: ['low', 'medium', 'high', 'xhigh'].map((effort) => ({
    effort,
    description: effort,
  })),
  shell_type: 'unified_exec',
  visibility: 'list',
  supported_in_api: true,
  priority: 2,
  additional_speed_tiers: ['fast'],
  service_tiers: [{ id: 'priority', name: 'Fast', description: 'faster, increased usage' }],
  availability_nux: null,
  upgrade: null,
  model_messages: null,
  default_reasoning_summary: 'none',
  support_verbosity: true,
  default_verbosity: 'low',
  apply_patch_tool_type: 'freeform',
  web_search_tool_type: 'text_and_image',
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  supports_image_detail_original: true,
  context_window: 272_000,
  max_context_window: 872_000,
  effective_context_window_percent: 95,
  experimental_supported_tools: [],
  input_modalities: ['text', 'image'],
  supports_search_tool: true,
  use_responses_lite: false,
  base_instructions: '',
  ...more,
});

/** The models of an ordinary account in this fake. */
const MODELS: readonly JsonObject[] = [
  ...['gpt-6.1-sol', 'gpt-6-luna', 'gpt-5.6-sol', 'gpt-5.6-luna'].map((slug) =>
    model(slug, { use_responses_lite: true, tool_mode: 'code_mode_only' }),
  ),
  model('gpt-5.5'),
];

export const standardSettings = (): Settings => ({
  models: MODELS,
  unlistedModels: new Set(['gpt-5.4-mini']),
  modelsNotInPlan: new Set(),
  oldestVersion: '0.160.0',
  instructionsNeeded: 'always',
  emptyInstructions: 'present',
  isValidInstructions: () => true,
  namespaceOnCalls: 'taken',
  ownEncrypted: new Set(),
  responsesFormatForCodexModels: 'open',
  codexFormat: 'open',
  rulesOff: new Set(),
  primaryUsedPercent: 42,
  sseDelayMs: 0,
  websocketMinutes: 60,
  websocketMaxBytes: 16 * 1024 * 1024,
  pingEveryMs: 20_000,
  pongWithinMs: 20_000,
  rateLimitFrames: true,
  attribution: false,
  settingsDelayMs: 0,
  bundle: 'ok',
  modelsEndpoint: 'ok',
  deviceLogin: 'pending',
  tokenCheck: 'ok',
  refresh: 'ok',
});
