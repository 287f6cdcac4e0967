import type { IncomingHttpHeaders, ServerResponse } from 'node:http';

import type { Dispatcher } from 'undici';

import type { Failure } from '../../../canonical/failure/failure.ts';
import type { ModelBudget } from '../../../canonical/context/model-budget.ts';
import type { TraceKind } from '../../../canonical/context/trace.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { Unreadable } from '../answer/answer-reader.ts';
import type { CookieJar } from '../transport/cookies.ts';
import type { InputFindings, RequestEdits } from '../request/edits.ts';
import { endToEnd, type Headers } from '../../end-to-end-headers.ts';
import type { Session } from '../request/headers.ts';
import type { TurnAnswers } from '../request/turn-answers.ts';
import type { Repair } from '../answer/repair-event.ts';
import { sourceOf, streamFailure } from '../answer/http-failure.ts';
import type { EditField } from '../../capabilities/profile.ts';
import type { UpstreamEvent } from '../../sources/upstream-event.ts';

/** A turn of ours to which a model request belongs. */
export interface ModelCall {
  readonly model: string;
  /** From which each of its model requests is taken. */
  readonly budget: ModelBudget;
  readonly edits: RequestEdits;
  readonly session: Session;
  /** Fields that this backend has just refused. */
  readonly withheld: ReadonlySet<EditField>;
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  /** A request is sent for it, or its backend is heard: something goes on that may be waited for. */
  readonly onActivity: (sign: 'sent' | 'heard') => void;
  /** Whether the model has not answered in this turn yet. */
  readonly isFirstRequest: boolean;
  /** What the model has put out in this turn. */
  readonly answers: TurnAnswers;
  headers: Readonly<Record<string, string>>;
  onInput(found: InputFindings): void;
  /** Whether somebody writes down what is said for it. */
  readonly isTraced: boolean;
  record(kind: TraceKind, facts: object): void;
  withhold(field: EditField): void;
}

export interface ForwardOptions {
  readonly dispatcher: Dispatcher;
  /** How long a backend may be silent, before its answer and in it. */
  readonly idleTimeoutMs: number;
  /** Null: cookies are between the app-server and its backend. */
  readonly cookies: CookieJar | null;
  readonly onRetry: (reason: string) => void;
  /** A request was answered once these fields were left out. */
  readonly onLearnt: (model: string, field: EditField) => void;
  /** From sending a model request to the first byte of its answer. */
  readonly onFirstByte: (ms: number) => void;
  /** A page of Cloudflare's came instead of an answer to a model request. */
  readonly onBlocked: () => void;
  /** The backend itself answered a model request, with whatever. */
  readonly onServed: () => void;
  /** An event of an answer could not be read, the nth one of that answer. */
  readonly onUnreadable?: (why: Unreadable, nth: number) => void;
  /** A stream ended without `response.completed`; the message is what the client is told. */
  readonly onUnfinished?: (message: string) => void;
  /** Creates ids for calls that a backend sends without one. */
  readonly mintCallId: () => string;
  /** An event of an answer was not as the API has it, and was repaired. */
  readonly onRepaired?: (repair: Repair) => void;
}

export interface RelayedRequest {
  /** What it asks for: the model, or something that the turn can do without. */
  readonly purpose: 'model' | 'other';
  readonly method: string;
  /** Where the path begins, without a slash at its end. */
  readonly target: string;
  readonly path: string;
  /** Set where the key is ours and not the app-server's. */
  readonly apiKey: string | null;
  readonly headers: IncomingHttpHeaders;
  /** Let go when the answer comes: a conversation is large, and an answer may take minutes. */
  body: Buffer;
  /** The app-server or the client is gone. */
  readonly signal: AbortSignal;
  readonly outgoing: ServerResponse;
}

export const toStreamFailure =
  (relayed: RelayedRequest) =>
  (event: JsonObject): Failure =>
    streamFailure(event, sourceOf(relayed.target, relayed.headers, relayed.apiKey));

/** What the app-server gets of the headers: cookies that we keep for it are not among them. */
export const responseHeaders = (
  relayed: RelayedRequest,
  answer: Dispatcher.ResponseData,
  { cookies }: ForwardOptions,
): Headers => {
  const { 'set-cookie': set, ...headers } = endToEnd(answer.headers);
  return set === undefined || cookies?.isFor(relayed.target) === true
    ? headers
    : { ...headers, 'set-cookie': set };
};

export const isEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-encoding'] === undefined && (headers['content-type'] ?? '').includes('event-stream');
