import { assertNever } from '../../kit/assert-never.ts';
import { PROVIDER_ID } from '../protocol/provider.ts';
import type { BackendTarget } from './backend.ts';

/** Settings that differ between homes. All others are fixed: see `CLEAN_PROMPT`. */
export interface CodexSettings {
  readonly backend: BackendTarget;
  /** Absolute path. codex reads it at startup only. Null: codex asks its backend for the models. */
  readonly catalogueFile: string | null;
  readonly codexVersion: string;
  /** Whether codex may send feedback to OpenAI on request. */
  readonly allowsFeedback: boolean;
  /** Folders whose own settings codex must not obey. */
  readonly untrusted: readonly string[];
  /** What its tools may do. Null: it has no tools. Default: null. */
  readonly sandbox?: AgentSandbox | null;
}

/** The sandboxes of codex's own tools. */
export interface AgentSandbox {
  /** By name: `command/exec` runs a command in one of them. */
  readonly profiles: Readonly<Record<string, SandboxProfile>>;
  /** The name of the one for threads that choose none. */
  readonly standard: string;
}

export type FileAccess = 'read' | 'write' | 'deny';

/** A permission profile of codex. What it does not name is not there for a command. */
export interface SandboxProfile {
  /** By absolute path or special name. The members of `:workspace_roots` are relative to the folder of the thread. */
  readonly filesystem: Readonly<Record<string, FileAccess | Readonly<Record<string, FileAccess>>>>;
  readonly network: {
    readonly enabled: boolean;
    /** Absent: all hosts. */
    readonly domains?: Readonly<Record<string, 'allow' | 'deny'>>;
  };
}

type TomlValue = string | number | boolean;
type TomlTable = Readonly<Record<string, TomlValue>>;

/**
 * Disables everything that codex would add to a request (instructions, skills, its own tools, environment
 * context), so that the model sees only the client's items and tools.
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
      // Otherwise the images of a request are sent with `detail: original`, whatever the client asked for.
      unified_image_budget: false,
      // Skills are off; this would still prepare a search of them for each turn.
      skill_search: false,
      // Uncompressed, so that the relay and tests can read the bodies.
      enable_request_compression: false,
      // Report an unreachable provider at once: otherwise codex retries for seconds.
      unbounded_connection_retries: false,
    },
    tools: { 'experimental_request_user_input.enabled': false, 'update_plan.enabled': false },
    orchestrator: { 'skills.enabled': false, 'mcp.enabled': false },
  },
} as const;

/** What agents need that the clean prompt disables: codex's own tools, and its message about the folder. */
const WITH_TOOLS = {
  root: {
    include_environment_context: true,
    // Under `untrusted` codex runs a command that failed in the sandbox again outside of it.
    approval_policy: 'on-request',
  },
  tables: {
    features: {
      ...CLEAN_PROMPT.tables.features,
      shell_tool: true,
      unified_exec: true,
      view_image: true,
      // Without it a list of hosts would open the whole network.
      network_proxy: true,
    },
    tools: { ...CLEAN_PROMPT.tables.tools, 'update_plan.enabled': true },
    // The app-server's own variables are not for commands.
    shell_environment_policy: { inherit: 'core' },
  },
} as const;

/** Disables history and telemetry: a home lives only as long as its worker. */
const QUIET = {
  root: {
    check_for_update_on_startup: false,
    // Never the system keyring: the login is the file in the home.
    cli_auth_credentials_store: 'file',
    // Close a thread without subscribers at once, not after half an hour.
    thread_unload_delay_secs: 0,
  },
  tables: { history: { persistence: 'none' }, analytics: { enabled: false } },
} as const;

/** The discard port of this machine: without a backend no request may leave it. */
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
        // codex sends its version only to its own provider, and that backend hides newer models from clients
        // without it.
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

/** This server decides about retries: one client request is one model request. */
const PROVIDER_FIXED = {
  name: PROVIDER_ID,
  wire_api: 'responses',
  supports_websockets: false,
  request_max_retries: 0,
  stream_max_retries: 0,
  // The idle timeout is ours too; a day is longer than any client waits.
  stream_idle_timeout_ms: 86_400_000,
} as const;

export const configToml = ({
  backend,
  catalogueFile,
  codexVersion,
  allowsFeedback,
  untrusted,
  sandbox = null,
}: CodexSettings): string => {
  const root: TomlTable = {
    model_provider: PROVIDER_ID,
    ...(catalogueFile === null ? {} : { model_catalog_json: catalogueFile }),
    ...(backend.kind === 'login' && backend.chatgptBaseUrl !== null
      ? { chatgpt_base_url: backend.chatgptBaseUrl }
      : {}),
    ...CLEAN_PROMPT.root,
    ...QUIET.root,
    ...(sandbox === null ? {} : { ...WITH_TOOLS.root, default_permissions: sandbox.standard }),
  };
  const tables: Readonly<Record<string, TomlTable>> = {
    [`model_providers.${PROVIDER_ID}`]: { ...PROVIDER_FIXED, ...providerOf(backend, codexVersion) },
    ...CLEAN_PROMPT.tables,
    ...QUIET.tables,
    feedback: { enabled: allowsFeedback },
    ...(sandbox === null ? {} : { ...WITH_TOOLS.tables, ...permissionsOf(sandbox.profiles) }),
    ...projectsOf(untrusted),
  };
  const sections = Object.entries(tables).map(([name, table]) => `[${name}]\n${tableToml(table)}`);
  return [tableToml(root), ...sections].join('\n');
};

/**
 * codex trusts the folder of a thread that may write, and the repository around it: it would start the MCP
 * servers of their `.codex/config.toml`, outside every sandbox.
 */
const projectsOf = (folders: readonly string[]): Readonly<Record<string, TomlTable>> =>
  Object.fromEntries(
    folders.map((folder) => [`projects.${tomlString(folder)}`, { trust_level: 'untrusted' }]),
  );

const permissionsOf = (
  profiles: Readonly<Record<string, SandboxProfile>>,
): Readonly<Record<string, TomlTable>> =>
  Object.assign(
    {},
    ...Object.entries(profiles).map(([name, { filesystem, network }]) => {
      const table = `permissions.${tomlString(name)}`;
      const { domains, ...rest } = network;
      return {
        ...tablesOf(`${table}.filesystem`, filesystem),
        [`${table}.network`]: rest,
        ...(domains === undefined ? {} : tablesOf(`${table}.network.domains`, domains)),
      };
    }),
  );

/** A table whose keys are any texts, and its members that are tables. */
const tablesOf = (
  name: string,
  values: Readonly<Record<string, TomlValue | TomlTable>>,
): Readonly<Record<string, TomlTable>> => {
  const own: Record<string, TomlValue> = {};
  const members: Record<string, TomlTable> = {};
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === 'object') Object.assign(members, tablesOf(`${name}.${tomlString(key)}`, value));
    else own[tomlString(key)] = value;
  }
  return { [name]: own, ...members };
};

const tableToml = (table: TomlTable): string =>
  Object.entries(table)
    .map(([key, value]) => `${key} = ${typeof value === 'string' ? tomlString(value) : String(value)}\n`)
    .join('');

/**
 * Writes a basic string. JSON escapes are valid TOML with two exceptions: TOML also escapes DEL and has no
 * lone surrogates.
 */
export const tomlString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replaceAll('\u007f', String.raw`\u007f`);
