import { assertNever } from '../kit/assert-never.ts';
import type { TurnSummary } from './observer.ts';

/** The detected client. */
interface ClientFacts {
  readonly name: string;
  readonly source: string;
  readonly reasons: readonly string[];
}

/** What the caller says about the conversation that it asks in. */
export interface SessionFacts {
  readonly thread: string | null;
  readonly session: string | null;
  /** The subagent that sends the request, such as `review`. */
  readonly subagent: string | null;
  /** The client program. */
  readonly originator: string | null;
}

/** How much was asked. */
export interface RequestSummary {
  readonly items: number;
  readonly tools: number;
  readonly images: number;
  readonly bytes: number;
}

/** What is known of a request and its answer; a turn is there only for routes that run one. */
export interface AccessFacts {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, such as `/v1/models/:id`, not the path with its values. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly keyId?: string | null;
  readonly model?: string | null;
  readonly stream?: boolean | null;
  readonly client?: ClientFacts | null;
  readonly named?: SessionFacts | null;
  /** Only for a request that runs a turn and could be read. */
  readonly request?: RequestSummary | null;
  /** The trace of the caller, by W3C Trace Context. */
  readonly traceparent?: string | null;
  /** Obsidian Copilot's own id of a trace. */
  readonly copilotTraceId?: string | null;
  /** The kind of side request that was detected, such as a title. */
  readonly intercept?: string | null;
  readonly errorCode?: string | null;
  readonly turn?: TurnSummary | null;
}

const outcomeOf = (turn: TurnSummary, errorCode: string | null): string => {
  switch (turn.ending.kind) {
    case 'ended':
      return turn.ending.outcome.kind;
    case 'thrown':
      return 'failed';
    case 'abandoned':
      // Its reader left it for an error of its own, unless there is none: then the client went away.
      return errorCode === null ? 'abandoned' : 'failed';
    default:
      return assertNever(turn.ending);
  }
};

/** A stream that has begun keeps its status 200: its failure is only in the turn. */
const turnErrorCode = (turn: TurnSummary): string | null => {
  if (turn.ending.kind === 'thrown') return turn.ending.failure.code;
  if (turn.ending.kind === 'ended' && turn.ending.outcome.kind === 'failed') {
    return turn.ending.outcome.failure.code;
  }
  return null;
};

/** The client in the log, under field names that operators already query. */
const clientEntry = ({ name, source, reasons }: ClientFacts) => ({ family: name, tier: source, reasons });

/** The one line per request: ids, times and counts. No content and no key can be given to it. */
export const toAccessLine = (facts: AccessFacts) => {
  const turn = facts.turn ?? null;
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
    outcome: turn === null ? null : outcomeOf(turn, facts.errorCode ?? null),
    inputTokens: turn?.usage?.inputTokens ?? null,
    outputTokens: turn?.usage?.outputTokens ?? null,
    errorCode: facts.errorCode ?? (turn === null ? null : turnErrorCode(turn)),
  };
};
