import type { RequestSpans } from '../../canonical/context/request-trace.ts';
import { encodeFrame } from '../../apis/sse.ts';
import type { FeedMessage } from './live-feed.ts';
import type { RequestRecord } from './record.ts';

/** The name of a key; null: it has none, or is unknown. */
export type KeyNames = (keyId: string) => string | null;

/** A request of the log as clients of the API see it. Times of the day are Unix seconds. */
export const projectRequest = (record: RequestRecord, keyNames: KeyNames) => {
  const { usage, error, run = null } = record;
  return {
    object: 'codex.request' as const,
    id: record.id,
    request_id: record.requestId,
    response_id: record.responseId,
    instance: record.instance,
    state: record.durationMs === null ? ('running' as const) : ('ended' as const),
    method: record.method,
    route: record.route,
    transport: record.method === 'WEBSOCKET' ? ('websocket' as const) : ('http' as const),
    upstream_transport: record.upstreamTransport,
    started_at: record.startedAt / 1000,
    duration_ms: record.durationMs,
    first_event_ms: record.firstEventMs,
    first_delta_ms: record.firstDeltaMs,
    status: record.status,
    outcome: record.outcome,
    stream: record.isStream,
    background: record.isBackground,
    key: record.keyId === null ? null : { id: record.keyId, name: keyNames(record.keyId) },
    client: record.client,
    model: record.model,
    served_model: record.servedModel,
    usage:
      usage === null
        ? null
        : {
            input_tokens: usage.inputTokens,
            cached_tokens: usage.cachedTokens,
            output_tokens: usage.outputTokens,
            reasoning_tokens: usage.reasoningTokens,
          },
    ignored_params: record.ignored,
    retries: record.retries,
    error:
      error === null
        ? null
        : {
            code: error.code,
            message: error.message,
            param: error.param,
            source: error.source,
            upstream_status: error.upstreamStatus,
          },
    run: run === null ? null : { workspace: run.workspace, calls: run.calls, waits: run.waits },
    captured: record.capture !== null,
    replay_of: record.replayOf,
  };
};

/** What only the page of one request shows. */
export const projectDetails = ({ size, named, traceparent }: RequestRecord, spans: RequestSpans) => ({
  size:
    size === null ? null : { items: size.items, tools: size.tools, images: size.images, bytes: size.bytes },
  named,
  trace_id: traceparent?.split('-')[1] ?? null,
  spans: spans.spans.map(({ name, parent, startMs, endMs, facts }) => ({
    name,
    parent,
    start_ms: startMs,
    end_ms: endMs,
    facts,
  })),
  spans_dropped: spans.dropped,
});

/** A message of the live feed as an event of a stream. */
export const printMessage = (message: FeedMessage, keyNames: KeyNames): string =>
  encodeFrame({ event: message.event, data: dataOf(message, keyNames) });

const dataOf = (message: FeedMessage, keyNames: KeyNames) => {
  if (message.event === 'dropped') return { dropped: message.count };
  if (message.event !== 'snapshot') return projectRequest(message.request, keyNames);
  return {
    object: 'list',
    data: message.requests.map((request) => projectRequest(request, keyNames)),
    left_out: message.leftOut,
  };
};
