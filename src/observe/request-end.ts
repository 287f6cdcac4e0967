import type { RequestSpans } from '../canonical/context/request-trace.ts';
import type { TraceContext } from '../canonical/context/trace.ts';
import type { Outcome } from '../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../canonical/events/usage.ts';
import type { ErrorSource } from '../canonical/failure/catalogue-row.ts';
import { errorSourceOf, type Failure } from '../canonical/failure/failure.ts';
import type { TurnObserver, TurnSummary } from './observer.ts';

/** A request as it arrives, whatever it came over. */
export interface StartedRequest {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, such as `/v1/models/:id`. */
  readonly route: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** The response that runs without its client; null: a request that a client waits for. */
  readonly backgroundId: string | null;
  /** The distributed trace that it belongs to; absent or null: none. */
  readonly traceContext?: TraceContext | null;
}

/** The conversation as identified by the client. */
export interface SessionFacts {
  readonly thread: string | null;
  readonly session: string | null;
  /** The subagent that sends the request, such as `review`. */
  readonly subagent: string | null;
  /** The client program. */
  readonly originator: string | null;
}

/** The size of a request. */
export interface RequestSummary {
  readonly items: number;
  readonly tools: number;
  readonly images: number;
  readonly bytes: number;
}

/** The detected client. */
interface DetectedClient {
  readonly name: string;
  readonly source: string;
  readonly reasons: readonly string[];
}

export const NO_SPANS: RequestSpans = { spans: [], dropped: 0 };

/** What becomes known about a request while it runs, and what it is until then. */
const UNKNOWN = {
  /** 0: cut off before its answer began. */
  status: 0,
  keyId: null as string | null,
  model: null as string | null,
  stream: null as boolean | null,
  client: null as DetectedClient | null,
  named: null as SessionFacts | null,
  /** Only for a parsed request that runs a turn. */
  request: null as RequestSummary | null,
  /** The client's W3C trace. */
  traceparent: null as string | null,
  /** Obsidian Copilot's trace id. */
  copilotTraceId: null as string | null,
  /** The kind of side request that was detected, such as a title. */
  intercept: null as string | null,
  failure: null as Failure | null,
  /** The id of the answer. */
  answerId: null as string | null,
  /** The model that answers, if it is not the requested one. */
  servedModel: null as string | null,
  /** Parameters without effect, by their names in the body. */
  ignored: [] as readonly string[],
  /** How often something was asked for again. */
  retries: 0,
  /** The name of the file that has the whole request. */
  capture: null as string | null,
  /** The id, in the request log, of the request that this one repeats. */
  replayOf: null as string | null,
  /** What the request consisted of. */
  spans: NO_SPANS,
};

type RequestFacts = Readonly<typeof UNKNOWN>;

/** What is known so far. The failure of a stream that has begun is only in its turn. */
export type RequestNotes = Partial<RequestFacts & { readonly turn: TurnSummary }>;

/** A request that is over, and how it ended. Computed once, for everything that logs, counts or stores it. */
export interface RequestEnd extends StartedRequest, RequestFacts {
  readonly durationMs: number;
  /** Without an error. A request that only started a background response is answered, too. */
  readonly result: 'answered' | 'failed' | 'cancelled';
  /** Of the request, or of its turn. */
  readonly failure: Failure | null;
  /** Who has to act; null: it did not fail. */
  readonly errorSource: ErrorSource | null;
  /** How its turn ended; null: it ran none. */
  readonly outcome: Outcome['kind'] | 'abandoned' | null;
  readonly usage: Usage | null;
  /** From the start of the request to the first event of its turn. */
  readonly firstEventMs: number | null;
}

/** For the log and the metrics only: the client has disconnected. */
export const CLIENT_GONE = 499;

/** What the notes of a request amount to if it ends now. */
export const requestEnd = (
  request: StartedRequest,
  { turn, ...notes }: RequestNotes,
  durationMs: number,
): RequestEnd => {
  const failure = notes.failure ?? failureIn(turn);
  const outcome = outcomeOf(turn, failure);
  // A background response without a turn was cancelled while it waited.
  const isLeft = outcome === 'abandoned' || (outcome === null && request.backgroundId !== null);
  const result = isLeft || notes.status === CLIENT_GONE ? 'cancelled' : 'answered';
  return {
    ...UNKNOWN,
    ...request,
    ...notes,
    durationMs,
    result: failure === null ? result : 'failed',
    failure,
    errorSource: failure === null ? null : errorSourceOf(failure),
    outcome,
    usage: turn?.usage ?? null,
    firstEventMs: turn?.firstEventMs ?? null,
  };
};

const failureIn = (turn: TurnSummary | undefined): Failure | null => {
  const ending = turn?.ending;
  if (ending?.kind === 'thrown') return ending.failure;
  return ending?.kind === 'ended' && ending.outcome.kind === 'failed' ? ending.outcome.failure : null;
};

const outcomeOf = (turn: TurnSummary | undefined, failure: Failure | null): RequestEnd['outcome'] => {
  if (turn === undefined) return null;
  if (turn.ending.kind === 'ended') return turn.ending.outcome.kind;
  // An abandoned turn with an error: the proxy stopped reading. Without one, the client disconnected.
  return failure === null ? 'abandoned' : 'failed';
};

/** Combines the turns of a request: an answer may have several choices. */
export const turnTotal = (note: (turn: TurnSummary) => void): TurnObserver => {
  let total: TurnSummary | null = null;
  return {
    onEnd(turn) {
      total = total === null ? turn : together(total, turn);
      note(total);
    },
  };
};

const together = (a: TurnSummary, b: TurnSummary): TurnSummary => ({
  ending: badness(b) > badness(a) ? b.ending : a.ending,
  usage: addUsage(a.usage, b.usage),
  firstEventMs: earlier(a.firstEventMs, b.firstEventMs),
  durationMs: Math.max(a.durationMs, b.durationMs),
});

/** Ranks endings by severity. */
const badness = ({ ending }: TurnSummary): number => {
  if (ending.kind === 'thrown') return 3;
  if (ending.kind === 'abandoned') return 1;
  return ending.outcome.kind === 'failed' ? 2 : 0;
};

const earlier = (a: number | null, b: number | null): number | null => {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
};

/** The log line of a request: ids, times and counts. No content and no keys. */
export const toAccessLine = (end: RequestEnd) => ({
  requestId: end.requestId,
  method: end.method,
  route: end.route,
  status: end.status,
  model: end.model,
  stream: end.stream,
  keyId: end.keyId,
  // Under field names that operators already query.
  client:
    end.client === null
      ? null
      : { family: end.client.name, tier: end.client.source, reasons: end.client.reasons },
  named: end.named,
  request: end.request,
  traceparent: end.traceparent,
  copilotTraceId: end.copilotTraceId,
  intercept: end.intercept,
  firstEventMs: end.firstEventMs,
  durationMs: end.durationMs,
  outcome: end.outcome,
  inputTokens: end.usage?.inputTokens ?? null,
  outputTokens: end.usage?.outputTokens ?? null,
  errorCode: end.failure?.code ?? null,
});
