import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { secretHider } from '../../../kit/text/hide-secrets.ts';
import { idleFailure, lateFailure } from '../../failures/classify.ts';
import { hostOf, unreachable } from '../../failures/unreachable.ts';
import { codeOf, isConnectionError, isPermanent, readShortBody } from '../transport/connection.ts';
import { callerHeaders } from '../request/headers.ts';
import {
  responseHeaders,
  type ForwardOptions,
  type RelayedRequest,
  type ModelCall,
} from './relayed-request.ts';
import { httpFailure, secretsIn, sourceOf } from '../answer/http-failure.ts';
import { IdleTimeout, NoFirstEventError } from '../transport/idle-timeout.ts';
import type { EditField } from '../../capabilities/profile.ts';
import { refusedField } from '../request/refused-field.ts';
import type { TransportAnswer } from '../transport/model-transport.ts';
import { LostSocketError } from '../transport/websocket/lost-socket.ts';
import { Resends } from './resends.ts';
import { sendOnce, type BegunAnswer } from '../transport/send-once.ts';
import { streamBack } from '../answer/stream-back.ts';

/** If a backend asks for a longer pause than this, the error goes to the client instead. */
const MAX_PAUSE_SECONDS = 2;
/** Limit for a backend that refuses one field after the other. */
const MAX_WITHHELD = 8;

/** Forwards a request of the app-server. It gets the answer, unless it has nothing to do with it. */
export const forward = async (
  relayed: RelayedRequest,
  call: ModelCall | null,
  options: ForwardOptions,
): Promise<void> => {
  const host = hostOf(relayed.target);
  const refused: EditField[] = [];
  const resends = new Resends(relayed, call, options);
  let isLate = false;
  const over = (failed: Failure): 'over' => {
    noAnswer(relayed, call, failed);
    return 'over';
  };
  /** After an attempt without an answer. */
  const unanswered = (error: unknown, idleTimeout: IdleTimeout): Promise<'again'> | 'over' => {
    const code = codeOf(error);
    if (relayed.signal.aborted) {
      relayed.outgoing.abandon();
      return 'over';
    }
    if (error instanceof NoFirstEventError) {
      options.onFirstEventLate(resends.used);
      if (isLate || !resends.mayResend('no first event')) return over(lateFailure(host, error.limitMs));
      isLate = true;
      return resends.prepare({ cause: 'late', reason: 'no-first-event', pauseMs: null });
    }
    if (!idleTimeout.isAtEnd && !isConnectionError(error)) throw error;
    // After a timeout a retry would double the wait.
    if (!idleTimeout.isAtEnd && !isPermanent(code) && resends.mayResend('no connection')) {
      const isSocket = error instanceof LostSocketError;
      return resends.prepare({
        cause: code,
        reason: isSocket ? error.reason : 'no-connection',
        error,
        // The next socket is a new one.
        ...(isSocket ? { pauseMs: null } : {}),
      });
    }
    return over(idleTimeout.isAtEnd ? idleFailure(host, options.idleTimeoutMs) : unreachable(host, code));
  };
  const attempt = async (idleTimeout: IdleTimeout): Promise<'over' | 'again'> => {
    let begun: BegunAnswer;
    if (call !== null && !call.budget.take()) return over(call.budget.exceeded());
    call?.sending(host);
    try {
      begun = await sendOnce({ relayed, call, resends, idleTimeout, options });
    } catch (error) {
      return unanswered(error, idleTimeout);
    }
    const { answer, streamStart } = begun;
    const { statusCode } = answer;
    if (call !== null && statusCode >= 300 && statusCode < 400) {
      await begun.chunks.return?.();
      return over(redirected(host));
    }
    if (streamStart?.failure?.kind === 'upstream_overloaded' && resends.mayRetry('backend overloaded')) {
      await begun.chunks.return?.();
      return resends.prepare({ cause: 'overloaded', reason: 'overloaded' });
    }
    if (streamStart?.isCut === true && resends.mayResend('no connection')) {
      await begun.chunks.return?.();
      return resends.prepare({ cause: 'cut', reason: 'closed' });
    }
    if (statusCode < 400) {
      if (relayed.purpose === 'model') options.onServed();
      if (call !== null) {
        for (const field of refused) options.onLearnt(call.model, field);
        options.onFirstByte(begun.firstByteMs, begun.firstEventMs, resends.used);
      }
      relayed.model = null;
      await streamBack(relayed, call, { ...begun, transport: resends.used }, idleTimeout, options);
      return 'over';
    }
    const said = await readShortBody(answer);
    const error = call === null ? said : withoutSecrets(relayed, said);
    const failed = failureIn(relayed, answer, error, options.clock.now());
    const isBlocked = failed.kind === 'upstream_blocked';
    if (relayed.purpose === 'model' && isBlocked) options.onBlocked();
    if (relayed.purpose === 'model' && !isBlocked) options.onServed();
    const retryAfter = failed.retryAfterSeconds ?? 0;
    const isTransient = isTransientStatus(statusCode) && !isBlocked && retryAfter <= MAX_PAUSE_SECONDS;
    if (isTransient && resends.mayRetry('backend overloaded')) {
      const cause = `status ${statusCode}`;
      return resends.prepare({ cause, reason: 'server-error', pauseMs: retryAfter * 1000 });
    }
    call?.record('wire-refused', {
      host,
      status: statusCode,
      transport: resends.used,
      head: pickedHeaders(answer.headers),
      body: error.toString('utf8'),
    });
    const field = call === null ? null : refusedBy(statusCode, error, call);
    if (call !== null && field !== null && call.budget.retry('field rejected')) {
      refused.push(field);
      call.requestSpan.end({ retry: 'field-rejected' });
      call.withhold(field);
      return 'again';
    }
    call?.onUpstreamEvent({ kind: 'refused', failure: failed });
    errorBack(relayed, answer, error, options);
    return 'over';
  };
  for (;;) {
    const idleTimeout = new IdleTimeout(options.idleTimeoutMs, relayed.signal);
    try {
      if ((await attempt(idleTimeout)) === 'over') return;
    } finally {
      idleTimeout.stop();
      call?.requestSpan.end();
    }
  }
};

/** The headers of an error that tell its kind. */
const pickedHeaders = (headers: TransportAnswer['headers']): object => {
  const { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type } = headers;
  return { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type };
};

/** Some backends quote the account. It must not reach codex's own error messages or a trace. */
const withoutSecrets = (relayed: RelayedRequest, body: Buffer): Buffer => {
  const said = body.toString('utf8');
  const hidden = secretHider(secretsIn(relayed))(said);
  return hidden === said ? body : Buffer.from(hidden);
};

const failureIn = (
  relayed: RelayedRequest,
  { statusCode, headers }: TransportAnswer,
  body: Buffer,
  nowMs: number,
): Failure => {
  const answer = { status: statusCode, headers, body: body.toString('utf8') };
  const source = sourceOf(relayed, nowMs);
  const failed = httpFailure(answer, source);
  return { ...failed, headers: { ...failed.headers, ...callerHeaders(headers, source.secrets) } };
};

const refusedBy = (status: number, body: Buffer, call: ModelCall): EditField | null => {
  if ((status !== 400 && status !== 422) || call.withheld.size >= MAX_WITHHELD) return null;
  if (call.budget.isLimitReached) return null;
  const field = refusedField(body.toString('utf8'), call.edits.fields);
  return field === null || call.withheld.has(field) ? null : field;
};

const errorBack = (
  relayed: RelayedRequest,
  answer: TransportAnswer,
  body: Buffer,
  options: ForwardOptions,
): void => {
  const { 'content-length': _, ...headers } = responseHeaders(relayed, answer, options);
  relayed.outgoing.refuse(answer.statusCode, headers, body);
};

/** The app-server would follow a redirect past us, with the client's request. */
const redirected = (host: string): Failure =>
  failure('upstream_error', {
    message: `The upstream at ${host} answered with a redirect. On the server, check PROXY_UPSTREAM_BASE_URL.`,
  });

/** Reports a failure without an answer to pass on. */
const noAnswer = (relayed: RelayedRequest, call: ModelCall | null, failed: Failure): void => {
  call?.onUpstreamEvent({ kind: 'refused', failure: failed });
  const body = '{"error":{"message":"the backend gave no answer"}}';
  relayed.outgoing.refuse(502, { 'content-type': 'application/json' }, body);
};

/** Whether a retry may succeed. */
const isTransientStatus = (status: number): boolean => status >= 500 && status !== 501;
