import type { List } from '../../api/use-pages.ts';

/** A request of the log: `GET /v1/codex/requests`. */
export interface LoggedRequest {
  readonly id: string;
  readonly request_id: string;
  readonly response_id: string | null;
  readonly instance: string;
  readonly state: 'ended' | 'running';
  readonly method: string;
  readonly route: string;
  readonly transport: string;
  readonly upstream_transport: string | null;
  /** Seconds since 1970. */
  readonly started_at: number;
  readonly duration_ms: number | null;
  readonly first_event_ms: number | null;
  readonly first_delta_ms: number | null;
  readonly status: number | null;
  readonly outcome: string | null;
  readonly stream: boolean | null;
  readonly background: boolean;
  readonly key: { readonly id: string; readonly name: string | null } | null;
  readonly client: string | null;
  readonly model: string | null;
  readonly served_model: string | null;
  readonly usage: RequestTokens | null;
  readonly ignored_params: readonly string[];
  readonly retries: number;
  readonly error: RequestError | null;
  readonly captured: boolean;
  readonly replay_of: string | null;
  /** What codex did in a workspace. */
  readonly run: WorkspaceRun | null;
}

interface WorkspaceRun {
  readonly workspace: string;
  /** Null: it runs. */
  readonly calls: number | null;
  readonly waits: boolean;
}

export interface RequestTokens {
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

export interface RequestError {
  readonly code: string;
  readonly message: string | null;
  readonly param: string | null;
  readonly source: 'account' | 'backend' | 'client' | 'key' | 'server';
  readonly upstream_status: number | null;
}

export interface RequestList extends List<LoggedRequest> {
  readonly source: 'memory' | 'store';
  readonly instance: string;
}

/** A part of a request. Times are milliseconds since it arrived. */
export interface RequestSpan {
  readonly name: string;
  readonly parent: number | null;
  readonly start_ms: number;
  readonly end_ms: number;
  readonly facts: Readonly<Record<string, boolean | number | string | null>>;
}

export interface ShownBody {
  readonly chars: number;
  readonly truncated: boolean;
  readonly text: string;
}

export type Capture =
  | { readonly status: 'missing'; readonly message: string }
  | {
      readonly status: 'captured';
      readonly path: string;
      readonly client_body: ShownBody | null;
      readonly model_requests: readonly ShownBody[];
      readonly partial: boolean;
    };

/** `GET /v1/codex/requests/{id}`. */
export interface RequestDetails extends LoggedRequest {
  readonly size: Readonly<Record<'bytes' | 'images' | 'items' | 'tools', number>> | null;
  readonly trace_id: string | null;
  readonly spans: readonly RequestSpan[];
  readonly spans_dropped: number;
  readonly capture: Capture;
}

/** `POST /v1/codex/requests/{id}/replay`. */
export interface Replayed {
  readonly id: string | null;
  readonly request_id: string;
  readonly status: number;
  readonly outcome: string | null;
  readonly changes: readonly string[];
  readonly text: string;
  readonly truncated: boolean;
}

/** `GET /v1/codex/captures`. */
export interface CaptureState {
  readonly mode: 'all' | 'next' | 'off';
  readonly directory: string;
  readonly key_id: string | null;
  readonly requests_left: number | null;
}

const PATH = '/v1/codex/requests';
export const CAPTURES_PATH = '/v1/codex/captures';

export const LIVE_PATH = `${PATH}/live`;
export const requestPath = (id: string): string => `${PATH}/${encodeURIComponent(id)}`;
export const replayPath = (id: string): string => `${requestPath(id)}/replay`;

/** What the filters of the page are called in its address, and in the query of the API. */
export const FILTERS = ['status', 'model', 'key', 'client', 'q'] as const;
export type Filters = Readonly<Record<(typeof FILTERS)[number] | 'within', string>>;

export const filtersIn = (query: URLSearchParams): Filters => ({
  status: query.get('status') ?? '',
  model: query.get('model') ?? '',
  key: query.get('key') ?? '',
  client: query.get('client') ?? '',
  q: query.get('q') ?? '',
  within: query.get('within') ?? '',
});

/** The address of the page with these filters. */
export const pagePath = (filters: Filters): string => {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== ''));
  return query.size === 0 ? '/requests' : `/requests?${query.toString()}`;
};

/** The requests that have ended; `nowMs` is for the time range. */
export const listPath = (filters: Filters, after: string | null, nowMs: number): string => {
  const query = new URLSearchParams({ limit: '50' });
  for (const name of FILTERS) {
    // Those that run come from the live stream.
    if (filters[name] !== '' && filters[name] !== 'running') query.set(name, filters[name]);
  }
  const minutes = Number(filters.within);
  if (minutes > 0) query.set('from', String(Math.floor(nowMs / 1000) - minutes * 60));
  if (after !== null) query.set('after', after);
  return `${PATH}?${query.toString()}`;
};
