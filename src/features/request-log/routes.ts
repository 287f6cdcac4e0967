import { z } from 'zod';

import { parseBody } from '../../apis/validation.ts';
import type { OpenFeature } from '../../compose/feature.ts';
import { ignoredHeader } from '../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../http/answer/json-response.ts';
import { listBody, unreadQuery } from '../../openai/shared/list-page.ts';
import { requestLogError, type REQUEST_LOG_TABLES } from './feature.ts';
import { liveRequests, type LiveDeps } from './live-feed.ts';
import { projectDetails, projectRequest, type KeyNames } from './project.ts';
import { idPrefixAt, type EndedRequest } from './record.ts';
import {
  findCapture,
  notReplayable,
  projectCapture,
  replay,
  type CaptureDeps,
  type ReplayDeps,
} from './replay.ts';
import type { RequestLog } from './request-log.ts';
import type { RequestSearch } from './store.ts';

export interface RequestRouteDeps extends CaptureDeps, ReplayDeps {
  readonly log: RequestLog;
  readonly keyNames: KeyNames;
  readonly authenticate: LiveDeps['authenticate'];
  readonly readers: LiveDeps['readers'];
}

const NOT_CACHED = { 'cache-control': 'no-store' };

/** The log of requests: what ran, what runs, and why something failed. */
export const requestRoutes = (
  deps: RequestRouteDeps,
): NonNullable<OpenFeature<typeof REQUEST_LOG_TABLES>['routes']> => {
  const { log, keyNames } = deps;
  return {
    async 'GET /v1/codex/requests'(http, { signal }) {
      const query = new URL(http.url).searchParams;
      const { isRunning, limit, search } = searchOf(readRequestQuery(query));
      const { records, source } = isRunning
        ? { records: log.running(search), source: 'memory' as const }
        : await log.list(search);
      const data = records.slice(0, limit).map((record) => projectRequest(record, keyNames));
      const body = { ...listBody(data, records.length > limit), source, instance: deps.instance };
      const ignored = ignoredHeader(unreadQuery(query, REQUEST_QUERY_NAMES));
      return jsonResponse(body, { ...ignored, ...NOT_CACHED }, signal);
    },
    'GET /v1/codex/requests/live': (http, exchange) =>
      liveRequests(http, exchange, { ...deps, feed: log.feed, turns: deps.turns() }),
    async 'GET /v1/codex/requests/:id'(_, { signal }, { id = '' }) {
      const { record, spans } = await findRequest(log, id);
      const body = {
        ...projectRequest(record, keyNames),
        ...projectDetails(record, spans),
        capture: projectCapture(await findCapture(record, deps)),
      };
      return jsonResponse(body, NOT_CACHED, signal);
    },
    async 'POST /v1/codex/requests/:id/replay'(_, exchange, { id = '' }) {
      const { record } = await findRequest(log, id);
      const { capture, why } = await findCapture(record, deps);
      if (capture === null) throw notReplayable(why);
      const replayed = await replay(capture, record.id, exchange, deps);
      const made = await log.find(replayed.requestId);
      return jsonResponse(
        {
          object: 'codex.request.replay',
          replay_of: record.id,
          id: made?.record.id ?? null,
          request_id: replayed.requestId,
          status: replayed.status,
          outcome: made?.record.outcome ?? null,
          changes: replayed.changes,
          content_type: replayed.contentType,
          text: replayed.text,
          truncated: replayed.isCut,
        },
        NOT_CACHED,
        exchange.signal,
      );
    },
  };
};

const findRequest = async (log: RequestLog, id: string): Promise<EndedRequest> => {
  const found = await log.find(id);
  if (found === null) throw requestLogError('unknown_request');
  return found;
};

const DEFAULT_LIMIT = 50;

interface AskedSearch {
  /** Those that run, in place of those that have ended. */
  readonly isRunning: boolean;
  /** How many are shown; the search looks for one more. */
  readonly limit: number;
  readonly search: RequestSearch;
}

/** What the query of a client means for the log. */
const searchOf = (query: RequestQuery): AskedSearch => {
  const { status, after, to } = query;
  const limit = query.limit ?? DEFAULT_LIMIT;
  const end = to === null ? null : idPrefixAt(to * 1000);
  return {
    isRunning: status === 'running',
    limit,
    search: {
      result: status === 'ok' || status === 'failed' ? status : null,
      status: statusRange(status),
      errorCode: query.error,
      model: query.model,
      keyId: query.key,
      client: query.client,
      text: query.q,
      from: query.from === null ? null : idPrefixAt(query.from * 1000),
      before: after === null || (end !== null && end < after) ? end : after,
      limit: limit + 1,
    },
  };
};

const statusRange = (status: string | null): RequestSearch['status'] => {
  if (status === null || !/^\d/.test(status)) return null;
  if (!status.endsWith('xx')) return { from: Number(status), below: Number(status) + 1 };
  const from = Number(status[0]) * 100;
  return { from, below: from + 100 };
};

const MAX_NAME_CHARS = 200;
const MAX_SECONDS = 10_000_000_000;

const name = z.string().max(MAX_NAME_CHARS).nullable();
const time = z.number().min(0).max(MAX_SECONDS).nullable();

const requestSchema = z.object({
  limit: z.int().min(1).max(200).nullable(),
  after: name,
  status: z
    .string()
    .regex(/^(?:running|ok|failed|[1-5]xx|[1-5]\d\d)$/)
    .nullable(),
  error: name,
  model: name,
  key: name,
  client: name,
  from: time,
  to: time,
  q: name,
});

type RequestQuery = z.output<typeof requestSchema>;

const REQUEST_QUERY_NAMES: readonly string[] = Object.keys(requestSchema.shape);

const NUMBERS: ReadonlySet<string> = new Set(['limit', 'from', 'to']);

/** Reads which requests of the log a client asks for. Throws if a value is invalid; an empty one counts as absent. */
const readRequestQuery = (query: URLSearchParams): RequestQuery =>
  parseBody(requestSchema, Object.fromEntries(REQUEST_QUERY_NAMES.map((key) => [key, valueOf(query, key)])));

/** A value that is not a number stays a text, which the schema rejects. */
const valueOf = (query: URLSearchParams, key: string): number | string | null => {
  const text = query.get(key) ?? '';
  if (text === '') return null;
  return NUMBERS.has(key) && /^\d{1,12}(?:\.\d{1,6})?$/.test(text) ? Number(text) : text;
};
