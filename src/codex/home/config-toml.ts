import { assertNever } from '../../kit/assert-never.ts';
import { PROVIDER_ID } from '../protocol/provider.ts';
import type { BackendTarget } from './backend.ts';

/** What differs from one home to the next. All else is fixed: see `CLEAN_PROMPT`. */
export interface CodexSettings {
  readonly backend: BackendTarget;
  /** Absolute. codex reads it at start-up only. Null: codex asks its backend which models there are. */
  readonly catalogueFile: string | null;
  /** Of codex. */
  readonly codexVersion: string;
  /** Whether it may send feedback to its makers when it is told to. */
  readonly allowsFeedback: boolean;
}

type TomlValue = string | number | boolean;
type TomlTable = Readonly<Record<string, TomlValue>>;

/**
 * Switches off everything that codex would add to a request by itself (instructions, skills, tools of
 * its own, environment context), so that the model sees the client's items and tools and nothing else.
 */
const CLEAN_PROMPT = {
  root: {
    web_search: 'disabled',
    include_permissions_instructions: false,
    include_environment_context: false,
    include_apps_instructions: false,
    include_collaboration_mode_instructions: false,
    project_doc_max_bytes: 0,
    suppress_unstable_features_warning: true,
  },
  tables: {
    skills: { include_instructions: false, 'bundled.enabled': false },
    agents: { enabled: false, interrupt_message: false },
    features: {
      shell_tool: false,
      unified_exec: false,
      multi_agent: false,
      goals: false,
      view_image: false,
      apps: false,
      plugins: false,
      image_generation: false,
      hooks: false,
      tool_suggest: false,
      sleep_tool: false,
      browser_use: false,
      computer_use: false,
      in_app_browser: false,
      code_mode_host: false,
      shell_snapshot: false,
      memories: false,
      // Bodies stay plain, so that a relay or a test can read them.
      enable_request_compression: false,
      // A provider that cannot be reached is told at once: without this codex tries on for seconds.
      unbounded_connection_retries: false,
    },
    tools: { 'experimental_request_user_input.enabled': false, 'update_plan.enabled': false },
    orchestrator: { 'skills.enabled': false, 'mcp.enabled': false },
  },
} as const;

/** Nothing is kept on disk and nothing is reported: a home lives as long as its worker. */
const QUIET = {
  root: {
    check_for_update_on_startup: false,
    // Never the keyring of the machine: the login is the file that we link.
    cli_auth_credentials_store: 'file',
    // A thread that nobody is subscribed to any more is closed at once, not after half an hour.
    thread_unload_delay_secs: 0,
  },
  tables: { history: { persistence: 'none' }, analytics: { enabled: false } },
} as const;

/** Discards what it gets, on this machine: without a backend no request may leave it. */
const NOWHERE = 'http://127.0.0.1:9';

const providerOf = (backend: BackendTarget, codexVersion: string): TomlTable => {
  switch (backend.kind) {
    case 'upstream':
      return {
        base_url: backend.baseUrl,
        requires_openai_auth: false,
        ...(backend.apiKeyEnv === null ? {} : { env_key: backend.apiKeyEnv }),
      };
    case 'login':
      return {
        ...(backend.baseUrl === null ? {} : { base_url: backend.baseUrl }),
        requires_openai_auth: true,
        // codex says it to its own provider only, and that backend keeps newer models from who does not.
        ...(backend.login === 'chatgpt' ? { 'http_headers.version': codexVersion } : {}),
      };
    case 'demo':
      return { base_url: backend.baseUrl, requires_openai_auth: false };
    case 'none':
      return { base_url: NOWHERE, requires_openai_auth: false };
    default:
      return assertNever(backend);
  }
};

/** Retries are ours to decide: one request of a client is one request to the model. */
const PROVIDER_FIXED = {
  name: PROVIDER_ID,
  wire_api: 'responses',
  supports_websockets: false,
  request_max_retries: 0,
  stream_max_retries: 0,
  // So is how long a backend may be silent. A day is longer than anybody waits.
  stream_idle_timeout_ms: 86_400_000,
} as const;

export const configToml = ({
  backend,
  catalogueFile,
  codexVersion,
  allowsFeedback,
}: CodexSettings): string => {
  const root: TomlTable = {
    model_provider: PROVIDER_ID,
    ...(catalogueFile === null ? {} : { model_catalog_json: catalogueFile }),
    ...(backend.kind === 'login' && backend.chatgptBaseUrl !== null
      ? { chatgpt_base_url: backend.chatgptBaseUrl }
      : {}),
    ...CLEAN_PROMPT.root,
    ...QUIET.root,
  };
  const tables: Readonly<Record<string, TomlTable>> = {
    [`model_providers.${PROVIDER_ID}`]: { ...PROVIDER_FIXED, ...providerOf(backend, codexVersion) },
    ...CLEAN_PROMPT.tables,
    ...QUIET.tables,
    feedback: { enabled: allowsFeedback },
  };
  const sections = Object.entries(tables).map(([name, table]) => `[${name}]\n${tableToml(table)}`);
  return [tableToml(root), ...sections].join('\n');
};

const tableToml = (table: TomlTable): string =>
  Object.entries(table)
    .map(([key, value]) => `${key} = ${typeof value === 'string' ? tomlString(value) : String(value)}\n`)
    .join('');

/**
 * A basic string. JSON's escapes are TOML's, with two exceptions: TOML wants DEL escaped too, and knows
 * no lone surrogates.
 */
export const tomlString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replaceAll('\u007f', String.raw`\u007f`);
