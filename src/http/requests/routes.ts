import { gatewayError } from '../../canonical/failure/failure.ts';
import { readRequestQuery, REQUEST_QUERY_NAMES } from '../../openai/shared/request-query.ts';
import { listBody } from '../../openai/shared/list-page.ts';
import { unreadQuery } from '../../openai/shared/unread-query.ts';
import type { EndedRequest } from '../../requests/record.ts';
import type { RequestLog } from '../../requests/request-log.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import type { Route } from '../server.ts';
import { findCapture, projectCapture, type CaptureDeps } from './captured.ts';
import { liveRequests, type LiveDeps } from './live.ts';
import { projectDetails, projectRequest, type KeyNames } from './project.ts';
import { notReplayable } from './replay-body.ts';
import { replay, type ReplayDeps } from './replay.ts';
import { searchOf } from './search-of.ts';

export interface RequestRouteDeps extends CaptureDeps, ReplayDeps, Omit<LiveDeps, 'feed' | 'turns'> {
  readonly log: RequestLog;
  readonly keyNames: KeyNames;
}

const PATH = '/v1/codex/requests';
const NOT_CACHED = { 'cache-control': 'no-store' };

/** The log of requests: what ran, what runs, and why something failed. */
export const requestRoutes = (deps: RequestRouteDeps): readonly Route[] => {
  const { log, keyNames } = deps;
  const route = (
    method: Route['method'],
    path: string,
    scope: 'read' | 'admin',
    handle: Route['handle'],
  ): Route => ({
    method,
    path: `${PATH}${path}`,
    access: 'key',
    scopes: [scope],
    handle,
  });
  return [
    route('GET', '', 'read', async (http, { signal }) => {
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
    route('GET', '/live', 'read', (http, exchange) =>
      liveRequests(http, exchange, { ...deps, feed: log.feed }),
    ),
    route('GET', '/:id', 'read', async (_, { signal }, { id = '' }) => {
      const { record, spans } = await findRequest(log, id);
      const body = {
        ...projectRequest(record, keyNames),
        ...projectDetails(record, spans),
        capture: projectCapture(await findCapture(record, deps)),
      };
      return jsonResponse(body, NOT_CACHED, signal);
    }),
    route('POST', '/:id/replay', 'admin', async (_, exchange, { id = '' }) => {
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
