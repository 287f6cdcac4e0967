/** Answers of the Agents API, as far as this page reads them. Times are seconds since 1970. */

export interface Usage {
  readonly input_tokens: number;
  readonly input_tokens_details?: { readonly cached_tokens: number } | null;
  readonly output_tokens: number;
  readonly output_tokens_details?: { readonly reasoning_tokens: number } | null;
  readonly total_tokens: number;
}

/** A call that waits for its result. */
export interface RequiredAction {
  readonly type: string;
  readonly turn_id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: unknown;
}

export type SessionStatus = 'failed' | 'idle' | 'in_progress' | 'requires_action';

export interface AgentSession {
  readonly id: string;
  readonly status: SessionStatus;
  readonly error: string | null;
  readonly created_at: number;
  readonly last_active_at: number;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly required_actions: readonly RequiredAction[];
  readonly usage: Usage | null;
  readonly environment: {
    readonly type: string;
    readonly id?: string;
    readonly workspace_directory?: string;
  };
  readonly agent: {
    readonly id: string;
    readonly name: string | null;
    readonly instructions: string | null;
    readonly model: string;
    readonly reasoning?: { readonly effort: string | null } | null;
    readonly tools: readonly { readonly type: string; readonly name?: string }[];
  };
}

export interface AgentTurn {
  readonly id: string;
  readonly status: 'cancelled' | 'completed' | 'failed' | 'in_progress' | 'queued' | 'waiting';
  readonly created_at: number;
  readonly started_at: number | null;
  readonly completed_at: number | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly usage: Usage | null;
}

/** An item of a session. Which members it has depends on its type. */
export interface AgentItem {
  readonly id: string;
  readonly type: string;
  readonly turn_id: string;
  readonly status?: string | null;
  readonly [field: string]: unknown;
}

/** An event of a session's stream. Which members it has depends on its type. */
export interface AgentEvent {
  readonly type: string;
  readonly event_id: string;
  readonly turn_id?: string | null;
  readonly item_id?: string;
  readonly session?: AgentSession;
  readonly turn?: AgentTurn;
  readonly item?: AgentItem;
  readonly delta?: string;
  readonly text?: string;
  readonly content_index?: number;
  readonly summary_index?: number;
  readonly [field: string]: unknown;
}

/** A workspace that the key may use. */
export interface Environment {
  readonly id: string;
  readonly status: string;
}

/** A row of `GET /v1/codex/mcp`; `workspace` only if it is one. */
export interface McpRow {
  readonly server_label: string;
  readonly require_approval?: unknown;
  readonly workspace?: {
    readonly path: string;
    readonly access: string;
    readonly network: unknown;
    readonly runs: { readonly active: number; readonly max: number };
  } | null;
}

export const ENVIRONMENTS_PATH = '/v1/agents/environments?limit=100';
export const SESSIONS_PATH = '/v1/agents/sessions';

/** The reserved function: with it, commands and patches wait for an approval. */
export const APPROVAL = 'codex_approval';

export const sessionPath = (id: string): string => `${SESSIONS_PATH}/${encodeURIComponent(id)}`;

/** A page of a list below a session, or of the sessions themselves. */
export const pagePath = (
  path: string,
  { limit, order = 'desc', after }: { limit: number; order?: 'asc' | 'desc'; after: string | null },
): string => {
  const query = new URLSearchParams({ limit: String(limit), order });
  if (after !== null) query.set('after', after);
  return `${path}?${query.toString()}`;
};

const PREFIX = 'env_';

/** The name of the workspace in `env_NAME`. */
export const workspaceName = (environmentId: string): string =>
  environmentId.startsWith(PREFIX) ? environmentId.slice(PREFIX.length) : environmentId;

export const workspaceOf = ({ environment }: AgentSession): string | null =>
  environment.type === 'none' ? null : workspaceName(environment.id ?? environment.workspace_directory ?? '');

export const asksBeforeCommands = ({ agent }: AgentSession): boolean =>
  agent.tools.some(({ type, name }) => type === 'function' && name === APPROVAL);

/** The text of a message, or of the summary of reasoning. */
export const textOf = (item: AgentItem): string =>
  [item['content'], item['summary']]
    .flatMap((parts) => (Array.isArray(parts) ? (parts as readonly { readonly text?: unknown }[]) : []))
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []))
    .join('\n\n');

/** The text of the first message of the user; null: there is none yet. */
export const firstWords = (items: readonly AgentItem[]): string | null => {
  const first = items.find((item) => item.type === 'message' && item['role'] === 'user');
  if (first === undefined) return null;
  const text = textOf(first).trim().replaceAll(/\s+/g, ' ');
  return text === '' ? null : text;
};

/** The value, if it is a string. */
export const stringOf = (value: unknown, otherwise = ''): string =>
  typeof value === 'string' ? value : otherwise;

/** What a call got: an object, or JSON text of one. */
export const argumentsOf = (value: unknown): Readonly<Record<string, unknown>> => {
  if (typeof value === 'string') {
    try {
      return argumentsOf(JSON.parse(value) as object);
    } catch {
      return { input: value };
    }
  }
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
};
