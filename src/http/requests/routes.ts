import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  readRequestQuery,
  REQUEST_QUERY_NAMES,
  type RequestQuery,
  listBody,
  unreadQuery,
} from '../../openai/shared/list-page.ts';
import { idPrefixAt, type EndedRequest } from '../../requests/record.ts';
import type { RequestLog } from '../../requests/request-log.ts';
import type { RequestSearch } from '../../store/ports/requests.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { route, type Route } from '../route.ts';
import { findCapture, projectCapture, type CaptureDeps } from './captured.ts';
import { liveRequests, type LiveDeps } from './live.ts';
import { projectDetails, projectRequest, type KeyNames } from './project.ts';
import { notReplayable, replay, type ReplayDeps } from './replay.ts';

export interface RequestRouteDeps extends CaptureDeps, ReplayDeps, Omit<LiveDeps, 'feed' | 'turns'> {
  readonly log: RequestLog;
  readonly keyNames: KeyNames;
}

const PATH = '/v1/codex/requests';
const NOT_CACHED = { 'cache-control': 'no-store' };

/** The log of requests: what ran, what runs, and why something failed. */
export const requestRoutes = (deps: RequestRouteDeps): readonly Route[] => {
  const { log, keyNames } = deps;
  return [
    route(`GET ${PATH}`, 'read', async (http, { signal }) => {
      const query = new URL(http.url).searchParams;
      const { isRunning, limit, search } = searchOf(readRequestQuery(query));
      const { records, source } = isRunning
        ? { records: log.running(search), source: 'memory' as const }
        : await log.list(search);
      const data = records.slice(0, limit).map((record) => projectRequest(record, keyNames));
      const body = { ...listBody(data, records.length > limit), source, instance: deps.instance };
      const ignored = ignoredHeader(unreadQuery(query, REQUEST_QUERY_NAMES));
      return jsonResponse(body, { ...ignored, ...NOT_CACHED }, signal);
    }),
    route(`GET ${PATH}/live`, 'read', (http, exchange) =>
      liveRequests(http, exchange, { ...deps, feed: log.feed }),
    ),
    route(`GET ${PATH}/:id`, 'read', async (_, { signal }, { id = '' }) => {
      const { record, spans } = await findRequest(log, id);
      const body = {
        ...projectRequest(record, keyNames),
        ...projectDetails(record, spans),
        capture: projectCapture(await findCapture(record, deps)),
      };
      return jsonResponse(body, NOT_CACHED, signal);
    }),
    route(`POST ${PATH}/:id/replay`, 'admin', async (_, exchange, { id = '' }) => {
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
    }),
  ];
};

const findRequest = async (log: RequestLog, id: string): Promise<EndedRequest> => {
  const found = await log.find(id);
  if (found === null) throw gatewayError('unknown_request');
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
