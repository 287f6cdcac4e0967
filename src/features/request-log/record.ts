import type { RequestSpans } from '../../canonical/context/request-trace.ts';
import type { TraceSpan } from '../../canonical/context/trace.ts';
import type { ErrorSource } from '../../canonical/failure/catalogue-row.ts';
import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { RequestEnd, RequestSummary, SessionFacts } from '../../observe/request-end.ts';
import type { ListedRequest, RequestRow } from './store.ts';

export interface RecordNames {
  /** Unique, and in the order of the starts. */
  readonly id: string;
  /** The server that answers. */
  readonly instance: string;
}

/** What is known about a request: names, times and counts, no content. */
export interface RequestRecord extends RecordNames {
  /** `x-request-id`, which clients choose and may use again. */
  readonly requestId: string;
  readonly responseId: string | null;
  readonly method: string;
  readonly route: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** Null: it runs. */
  readonly durationMs: number | null;
  /** Null: it runs, and its answer has not begun. */
  readonly status: number | null;
  /** How its turn ended; null: it runs, or has no turn. */
  readonly outcome: string | null;
  readonly keyId: string | null;
  readonly client: string | null;
  readonly model: string | null;
  readonly servedModel: string | null;
  readonly isStream: boolean | null;
  /** A response that runs without its client. */
  readonly isBackground: boolean;
  /** How the backend was reached, such as `websocket`. */
  readonly upstreamTransport: string | null;
  readonly firstEventMs: number | null;
  readonly firstDeltaMs: number | null;
  readonly usage: RequestUsage | null;
  /** Parameters without effect. */
  readonly ignored: readonly string[];
  readonly retries: number;
  readonly error: RequestError | null;
  readonly size: RequestSummary | null;
  readonly named: SessionFacts | null;
  readonly traceparent: string | null;
  /** The name of the capture file on that server. */
  readonly capture: string | null;
  readonly replayOf: string | null;
  /** Null or absent: none. */
  readonly run?: WorkspaceRun | null;
}

/** What codex did in a workspace. */
export interface WorkspaceRun {
  readonly workspace: string;
  /** The calls of its tools; null: it runs. */
  readonly calls: number | null;
  /** Whether it ended with calls that wait for approval. */
  readonly waits: boolean;
}

/** A request that has ended. */
export interface EndedRequest {
  readonly record: RequestRecord;
  readonly spans: RequestSpans;
}

interface RequestUsage {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

interface RequestError {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly source: ErrorSource;
  /** The HTTP status of the backend. */
  readonly upstreamStatus: number | null;
}

const MAX_MESSAGE_CHARS = 500;
const MAX_IGNORED = 50;
const MAX_NAME_CHARS = 200;

/** Of a request that runs. The end is the one that it would have now. */
export const runningRecord = (end: RequestEnd, names: RecordNames): RequestRecord => ({
  ...recordOf(end, names),
  durationMs: null,
  status: end.status === 0 ? null : end.status,
});

export const recordOf = (end: RequestEnd, { id, instance }: RecordNames): RequestRecord => {
  const { spans } = end.spans;
  const sent = spans.findLast(({ name }) => name === 'model-request')?.facts ?? {};
  return {
    id,
    requestId: named(end.requestId) ?? '',
    responseId: named(end.answerId ?? end.backgroundId),
    instance,
    method: end.method,
    route: end.route,
    startedAt: end.startedAt,
    durationMs: end.durationMs,
    status: end.status,
    outcome: end.outcome,
    keyId: end.keyId,
    client: named(end.client?.name),
    model: named(end.model),
    servedModel: servedModel(end, sent),
    isStream: end.stream,
    isBackground: end.backgroundId !== null,
    upstreamTransport: typeof sent['transport'] === 'string' ? sent['transport'] : null,
    firstEventMs: end.firstEventMs,
    firstDeltaMs: firstDelta(spans),
    usage: usageOf(end),
    ignored: end.ignored.slice(0, MAX_IGNORED).map((name) => name.slice(0, MAX_NAME_CHARS)),
    retries: end.retries,
    error: errorOf(end, sent['status']),
    size: end.request,
    named: end.named,
    traceparent: end.traceparent,
    capture: end.capture,
    replayOf: end.replayOf,
    run: runOf(spans),
  };
};

const runOf = (spans: readonly TraceSpan[]): WorkspaceRun | null => {
  const facts = spans.findLast(({ name }) => name === 'run')?.facts;
  if (facts === undefined) return null;
  const { workspace, calls, waits } = facts;
  return {
    workspace: String(workspace),
    calls: typeof calls === 'number' ? calls : null,
    waits: waits === true,
  };
};

/** A name of the client or of the backend: short, and with nothing that a database rejects. */
const named = (text: string | null | undefined): string | null =>
  text == null
    ? null
    : text
        .slice(0, MAX_NAME_CHARS)
        .replaceAll(/\p{Cc}/gu, ' ')
        .toWellFormed();

const servedModel = ({ model, servedModel: other }: RequestEnd, sent: TraceSpan['facts']) => {
  const answered = other ?? (typeof sent['servedModel'] === 'string' ? sent['servedModel'] : null);
  return answered === model ? null : named(answered);
};

const firstDelta = (spans: readonly TraceSpan[]): number | null => {
  const span = spans.find(({ name }) => name === 'first-delta');
  return span === undefined ? null : Math.round(span.startMs);
};

const usageOf = ({ usage }: RequestEnd): RequestUsage | null => {
  if (usage === null) return null;
  const { inputTokens, cachedInputTokens: cachedTokens, outputTokens, reasoningTokens } = usage;
  return { inputTokens, cachedTokens, outputTokens, reasoningTokens };
};

const errorOf = (
  { failure: failed, errorSource }: RequestEnd,
  upstreamStatus: unknown,
): RequestError | null =>
  failed === null || errorSource === null
    ? null
    : {
        code: named(failed.code) ?? '',
        message: messageOf(failed).slice(0, MAX_MESSAGE_CHARS).toWellFormed(),
        param: failed.param,
        source: errorSource,
        upstreamStatus: typeof upstreamStatus === 'number' && upstreamStatus >= 400 ? upstreamStatus : null,
      };

/** Without the words of the model, which this message quotes. */
const messageOf = ({ kind, message }: Failure): string =>
  kind === 'image_not_generated' ? failure('image_not_generated').message : message;

/** Enough until the year 5188. */
const TIME_DIGITS = 9;
const RANDOM_DIGITS = 16;

/** Ids that begin with this are those of requests at this time; they sort by it. */
export const idPrefixAt = (ms: number): string =>
  `rql_${Math.max(0, Math.floor(ms)).toString(36).padStart(TIME_DIGITS, '0')}`;

export const mintRecordId = ({ ids }: Ambient, startedAt: number): string =>
  `${idPrefixAt(startedAt)}${ids.mint('').slice(1, 1 + RANDOM_DIGITS)}`;

/** Spans that are kept of one request. */
const MAX_SPANS = 64;

/** The first spans: those at the end of a long list are further calls of the same tools. */
export const boundedSpans = ({ spans, dropped }: RequestSpans): RequestSpans =>
  spans.length <= MAX_SPANS
    ? { spans, dropped }
    : { spans: spans.slice(0, MAX_SPANS), dropped: dropped + spans.length - MAX_SPANS };

/** A request as the store keeps it. */
export const requestRowOf = ({ record, spans }: EndedRequest, expiresAt: number): RequestRow => ({
  id: record.id,
  requestId: record.requestId,
  responseId: record.responseId,
  instance: record.instance,
  keyId: record.keyId,
  client: record.client,
  model: record.model,
  status: record.status ?? 0,
  errorCode: record.error?.code ?? null,
  expiresAt,
  body: JSON.stringify(record),
  spans: JSON.stringify(spans),
});

/** The record of a row. The id of its key is that of the column: a body keeps the one of its time. */
export const recordIn = ({ body, keyId }: ListedRequest): RequestRecord => ({
  ...(JSON.parse(body) as RequestRecord),
  keyId,
});
