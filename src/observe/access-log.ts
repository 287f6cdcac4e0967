import type { RequestSpans } from '../canonical/context/request-trace.ts';
import type { Failure } from '../canonical/failure/failure.ts';
import { assertNever } from '../kit/assert-never.ts';
import type { TurnSummary } from './observer.ts';

/** The detected client. */
interface ClientFacts {
  readonly name: string;
  readonly source: string;
  readonly reasons: readonly string[];
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

/** The facts of a request and its answer; a turn only for routes that run one. */
export interface AccessFacts {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, such as `/v1/models/:id`. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly keyId?: string | null;
  readonly model?: string | null;
  readonly stream?: boolean | null;
  readonly client?: ClientFacts | null;
  readonly named?: SessionFacts | null;
  /** Only for a parsed request that runs a turn. */
  readonly request?: RequestSummary | null;
  /** The client's W3C trace. */
  readonly traceparent?: string | null;
  /** Obsidian Copilot's trace id. */
  readonly copilotTraceId?: string | null;
  /** The kind of side request that was detected, such as a title. */
  readonly intercept?: string | null;
  readonly turn?: TurnSummary | null;
  /** The failure of the request; that of a started stream is only in the turn. Only its code is logged. */
  readonly failure?: Failure | null;
  /** The id of the answer. Not logged, like all that follows. */
  readonly answerId?: string | null;
  /** The model that answers, if it is not the requested one. */
  readonly servedModel?: string | null;
  /** Parameters without effect, by their names in the body. */
  readonly ignored?: readonly string[];
  /** How often something was asked for again. */
  readonly retries?: number;
  /** The name of the file that has the whole request. */
  readonly capture?: string | null;
  /** The id, in the request log, of the request that this one repeats. */
  readonly replayOf?: string | null;
  /** What the request consisted of. */
  readonly spans?: RequestSpans | null;
}

const outcomeOf = (turn: TurnSummary, failed: Failure | null): string => {
  switch (turn.ending.kind) {
    case 'ended':
      return turn.ending.outcome.kind;
    case 'thrown':
      return 'failed';
    case 'abandoned':
      // With an error, the proxy stopped reading; without one, the client disconnected.
      return failed === null ? 'abandoned' : 'failed';
    default:
      return assertNever(turn.ending);
  }
};

/** The failure of a request. A started stream keeps its status 200: its failure is only in the turn. */
export const failureIn = ({ failure, turn }: Pick<AccessFacts, 'failure' | 'turn'>): Failure | null => {
  if (failure != null) return failure;
  const ending = turn?.ending;
  if (ending?.kind === 'thrown') return ending.failure;
  return ending?.kind === 'ended' && ending.outcome.kind === 'failed' ? ending.outcome.failure : null;
};

/** The client in the log, under field names that operators already query. */
const clientEntry = ({ name, source, reasons }: ClientFacts) => ({ family: name, tier: source, reasons });

/** The log line of a request: ids, times and counts. Its input has no content and no keys. */
export const toAccessLine = (facts: AccessFacts) => {
  const turn = facts.turn ?? null;
  const failed = failureIn(facts);
  return {
    requestId: facts.requestId,
    method: facts.method,
    route: facts.route,
    status: facts.status,
    model: facts.model ?? null,
    stream: facts.stream ?? null,
    keyId: facts.keyId ?? null,
    client: facts.client == null ? null : clientEntry(facts.client),
    named: facts.named ?? null,
    request: facts.request ?? null,
    traceparent: facts.traceparent ?? null,
    copilotTraceId: facts.copilotTraceId ?? null,
    intercept: facts.intercept ?? null,
    firstEventMs: turn?.firstEventMs ?? null,
    durationMs: facts.durationMs,
    outcome: turn === null ? null : outcomeOf(turn, failed),
    inputTokens: turn?.usage?.inputTokens ?? null,
    outputTokens: turn?.usage?.outputTokens ?? null,
    errorCode: failed?.code ?? null,
  };
};
