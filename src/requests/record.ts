import type { RequestSpans } from '../canonical/context/request-trace.ts';
import type { TraceSpan } from '../canonical/context/trace.ts';
import { errorSourceOf, type ErrorSource } from '../canonical/failure/error-source.ts';
import { failure, type Failure } from '../canonical/failure/failure.ts';
import {
  failureIn,
  toAccessLine,
  type AccessFacts,
  type RequestSummary,
  type SessionFacts,
} from '../observe/access-log.ts';
import type { StartedRequest } from '../observe/request-observer.ts';

/** What is known about a request: names, times and counts, no content. */
export interface RequestRecord {
  /** Unique, and in the order of the starts. */
  readonly id: string;
  /** `x-request-id`, which clients choose and may use again. */
  readonly requestId: string;
  readonly responseId: string | null;
  /** The server that answers. */
  readonly instance: string;
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

/** The spans of a record, of limited size. */
export const NO_SPANS: RequestSpans = { spans: [], dropped: 0 };

const MAX_MESSAGE_CHARS = 500;
const MAX_IGNORED = 50;
const MAX_NAME_CHARS = 200;

export interface RecordSource {
  readonly id: string;
  readonly instance: string;
  readonly request: StartedRequest;
  readonly facts: Partial<AccessFacts>;
  readonly isEnded: boolean;
}

export const recordOf = ({ id, instance, request, facts, isEnded }: RecordSource): RequestRecord => {
  const { requestId, method, route, startedAt, backgroundId } = request;
  const status = facts.status ?? null;
  const line = toAccessLine({ requestId, method, route, durationMs: 0, ...facts, status: status ?? 0 });
  const spans = facts.spans?.spans ?? [];
  const failed = failureIn(facts);
  const sent = spans.findLast(({ name }) => name === 'model-request')?.facts ?? {};
  return {
    id,
    requestId: named(requestId) ?? '',
    responseId: named(facts.answerId ?? backgroundId),
    instance,
    method,
    route,
    startedAt,
    durationMs: isEnded ? line.durationMs : null,
    status,
    outcome: line.outcome,
    keyId: line.keyId,
    client: named(facts.client?.name),
    model: named(line.model),
    servedModel: servedModel(facts, sent),
    isStream: line.stream,
    isBackground: backgroundId !== null,
    upstreamTransport: typeof sent['transport'] === 'string' ? sent['transport'] : null,
    firstEventMs: line.firstEventMs,
    firstDeltaMs: firstDelta(spans),
    usage: usageOf(facts),
    ignored: (facts.ignored ?? []).slice(0, MAX_IGNORED).map((name) => name.slice(0, MAX_NAME_CHARS)),
    retries: facts.retries ?? 0,
    error: failed === null ? null : errorOf(failed, sent['status']),
    size: facts.request ?? null,
    named: facts.named ?? null,
    traceparent: line.traceparent,
    capture: facts.capture ?? null,
    replayOf: facts.replayOf ?? null,
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

const servedModel = ({ model, servedModel: other }: Partial<AccessFacts>, sent: TraceSpan['facts']) => {
  const answered = other ?? (typeof sent['servedModel'] === 'string' ? sent['servedModel'] : null);
  return answered === model ? null : named(answered);
};

const firstDelta = (spans: readonly TraceSpan[]): number | null => {
  const span = spans.find(({ name }) => name === 'first-delta');
  return span === undefined ? null : Math.round(span.startMs);
};

const usageOf = ({ turn }: Partial<AccessFacts>): RequestUsage | null => {
  const usage = turn?.usage ?? null;
  if (usage === null) return null;
  const { inputTokens, cachedInputTokens: cachedTokens, outputTokens, reasoningTokens } = usage;
  return { inputTokens, cachedTokens, outputTokens, reasoningTokens };
};

const errorOf = (failed: Failure, upstreamStatus: unknown): RequestError => ({
  code: named(failed.code) ?? '',
  message: messageOf(failed).slice(0, MAX_MESSAGE_CHARS).toWellFormed(),
  param: failed.param,
  source: errorSourceOf(failed),
  upstreamStatus: typeof upstreamStatus === 'number' && upstreamStatus >= 400 ? upstreamStatus : null,
});

/** Without the words of the model, which this message quotes. */
const messageOf = ({ kind, message }: Failure): string =>
  kind === 'image_not_generated' ? failure(kind).message : message;
