import type { IncomingHttpHeaders } from 'node:http';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { ModelBudget } from '../../../canonical/context/model-budget.ts';
import type { OpenSpan, TraceKind } from '../../../canonical/context/trace.ts';
import type { Clock } from '../../../kit/ambient.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { AnswerReaderOptions } from '../answer/answer-reader.ts';
import type { AnsweredTurn, AppServerAnswer } from '../answer/app-server-answer.ts';
import type { ModelTransport, TransportAnswer, TransportName } from '../transport/model-transport.ts';
import type { RenewalsOptions } from '../transport/renewals.ts';
import type { ResendReason } from '../transport/next-route.ts';
import type { RequestEdits } from '../request/edits.ts';
import type { CarriedInput } from '../request/carried-input.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';
import type { Session } from '../request/headers.ts';
import type { TurnAnswers } from '../request/turn-answers.ts';
import { sourceOf, streamFailure } from '../answer/http-failure.ts';
import type { EditField } from '../../capabilities/profile.ts';
import type { UpstreamEvent } from '../../sources/source.ts';

/** A turn that model requests belong to. */
export interface ModelCall extends AnsweredTurn {
  readonly model: string;
  /** Limits the number of its model requests. */
  readonly budget: ModelBudget;
  readonly edits: RequestEdits;
  readonly session: Session;
  /** Fields that this backend has just refused. */
  readonly withheld: ReadonlySet<EditField>;
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  /** A request was sent, or the backend sent something: the turn is active. */
  readonly onActivity: (sign: 'sent' | 'heard') => void;
  /** Whether the model has not answered in this turn yet. */
  readonly isFirstRequest: boolean;
  /** What the model has output in this turn. */
  readonly answers: TurnAnswers;
  headers: Readonly<Record<string, string>>;
  /** Measures the newest model request. */
  readonly requestSpan: OpenSpan;
  /** A model request is about to be sent. */
  sending(host: string): void;
  /** Whether a trace is recorded for it. */
  readonly isTraced: boolean;
  record(kind: TraceKind, facts: object): void;
  withhold(field: EditField): void;
}

export interface ForwardOptions
  extends
    Pick<RenewalsOptions, 'clock' | 'cookies' | 'onBlocked'>,
    Pick<AnswerReaderOptions, 'mintCallId' | 'onUnreadable' | 'onRepaired'> {
  /** Sends everything but token refreshes. */
  readonly transport: ModelTransport;
  /** Idle timeout before and during an answer. */
  readonly idleTimeoutMs: number;
  /** How long the first event of output may take for a small request; null: as long as the idle timeout allows. */
  readonly firstEventTimeoutMs: number | null;
  /** A model request is sent. */
  readonly onSending: (transport: TransportName) => void;
  /** A request is sent again; `cause` is a code or status. */
  readonly onRetry: (cause: string, reason: ResendReason, transport: TransportName) => void;
  /** The first event of output did not arrive in time. */
  readonly onFirstEventLate: (transport: TransportName) => void;
  /** A request succeeded after these fields were left out. */
  readonly onLearnt: (model: string, field: EditField) => void;
  /** Time from sending a model request to the first byte of its answer, and to its first event of output if known. */
  readonly onFirstByte: (ms: number, firstEventMs: number | null, transport: TransportName) => void;
  /** Called if the backend itself answered a model request, with any status. */
  readonly onServed: () => void;
  /** Called if a stream ended without `response.completed`; the message is the client's. */
  readonly onUnfinished?: (message: string) => void;
}

/** The model request of a turn, as the app-server wrote it. */
export interface ModelBody {
  readonly body: JsonObject;
  /** Null for a review, whose input is the app-server's own. */
  readonly carried: CarriedInput | null;
}

export interface RelayedRequest {
  /** Whether it is a model request, or one that the turn can do without. */
  readonly purpose: 'model' | 'other';
  readonly method: string;
  /** Base URL without a trailing slash. */
  readonly target: string;
  readonly path: string;
  /** Set if the key is ours instead of the app-server's. */
  readonly apiKey: string | null;
  readonly headers: IncomingHttpHeaders;
  /** Empty for the request of a turn, which is in `model`. */
  readonly body: Buffer;
  /** Released when the answer arrives: an answer may take minutes. */
  model: ModelBody | null;
  /** Aborted when the app-server or the client has disconnected. */
  readonly signal: AbortSignal;
  readonly outgoing: AppServerAnswer;
}

export const toStreamFailure =
  (relayed: RelayedRequest, clock: Clock) =>
  (event: JsonObject): Failure =>
    streamFailure(event, sourceOf(relayed, clock.now()));

/** The headers for the app-server, without cookies that we manage for it. */
export const responseHeaders = (
  relayed: RelayedRequest,
  answer: TransportAnswer,
  { cookies }: ForwardOptions,
): Headers => {
  const { 'set-cookie': set, ...headers } = endToEnd(answer.headers);
  return set === undefined || cookies?.isFor(relayed.target) === true
    ? headers
    : { ...headers, 'set-cookie': set };
};

export const isEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-encoding'] === undefined && (headers['content-type'] ?? '').includes('event-stream');
