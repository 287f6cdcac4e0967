import { setTimeout as sleep } from 'node:timers/promises';

import type { Dispatcher } from 'undici';

import type { RetryReason } from '../../../canonical/context/model-budget.ts';
import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { hideSecrets } from '../../../kit/text/hide-secrets.ts';
import { idleFailure } from '../../failures/classify.ts';
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
import { IdleTimeout } from '../transport/idle-timeout.ts';
import type { EditField } from '../../capabilities/profile.ts';
import { refusedField } from '../request/refused-field.ts';
import { sendOnce, type BegunAnswer } from '../transport/send-once.ts';
import { streamBack } from '../answer/stream-back.ts';

/** Retries of a request that failed before the first byte of its answer. */
const RETRIES = 2;
const RETRY_DELAY_MS = 150;
/** After a failure that took longer than this, a retry would take too long for the client. */
const RETRY_WITHIN_MS = 30_000;
/** If a backend asks for a longer pause than this, the error goes to the client instead. */
const MAX_PAUSE_SECONDS = 2;
/** Limit for a backend that refuses one field after the other. */
const MAX_WITHHELD = 8;
const NOTHING = Buffer.alloc(0);

/** Forwards a request of the app-server and streams the answer back byte for byte. */
export const forward = async (
  relayed: RelayedRequest,
  call: ModelCall | null,
  options: ForwardOptions,
): Promise<void> => {
  const startedAt = options.clock.now();
  const host = hostOf(relayed.target);
  const refused: EditField[] = [];
  let retries = 0;
  // codex itself retries its other requests.
  const maxRetries = relayed.purpose === 'model' ? RETRIES : 0;
  const timeLeft = (): number =>
    retries < maxRetries && call?.budget.isLimitReached !== true
      ? RETRY_WITHIN_MS - (options.clock.now() - startedAt)
      : 0;
  /** Whether it may be sent again. */
  const mayRetry = (reason: RetryReason): boolean => timeLeft() > 0 && call?.budget.retry(reason) !== false;
  const again = async (seconds: number, reason: string): Promise<void> => {
    retries += 1;
    await pause(retries, seconds, reason, relayed, options);
  };
  const attempt = async (idleTimeout: IdleTimeout): Promise<'over' | 'again'> => {
    let begun: BegunAnswer;
    if (call !== null && !call.budget.take()) {
      noAnswer(relayed, call, call.budget.exceeded());
      return 'over';
    }
    try {
      begun = await sendOnce({ relayed, call, retryWithinMs: timeLeft(), idleTimeout, options });
    } catch (error) {
      const code = codeOf(error);
      if (relayed.signal.aborted) {
        relayed.outgoing.destroy();
        return 'over';
      }
      if (!idleTimeout.isAtEnd && !isConnectionError(error)) throw error;
      // After a timeout a retry would double the wait.
      if (!idleTimeout.isAtEnd && !isPermanent(code) && mayRetry('no connection')) {
        await again(0, code);
        return 'again';
      }
      const failed = idleTimeout.isAtEnd ? idleFailure(host, options.idleTimeoutMs) : unreachable(host, code);
      noAnswer(relayed, call, failed);
      return 'over';
    }
    const { answer, streamStart } = begun;
    const { statusCode } = answer;
    if (call !== null && statusCode >= 300 && statusCode < 400) {
      await begun.chunks.return?.();
      noAnswer(relayed, call, redirected(host));
      return 'over';
    }
    if (streamStart?.failure?.kind === 'upstream_overloaded' && mayRetry('backend overloaded')) {
      await begun.chunks.return?.();
      await again(0, 'overloaded');
      return 'again';
    }
    if (statusCode < 400) {
      if (relayed.purpose === 'model') options.onServed();
      if (call !== null) {
        for (const field of refused) options.onLearnt(call.model, field);
        options.onFirstByte(begun.firstByteMs);
      }
      relayed.body = NOTHING;
      await streamBack(relayed, call, begun, idleTimeout, options);
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
    if (isTransient && mayRetry('backend overloaded')) {
      await again(retryAfter, `status ${statusCode}`);
      return 'again';
    }
    call?.record('wire-refused', {
      host,
      status: statusCode,
      head: pickedHeaders(answer.headers),
      body: error.toString('utf8'),
    });
    const field = call === null ? null : refusedBy(statusCode, error, call);
    if (call !== null && field !== null && call.budget.retry('field rejected')) {
      refused.push(field);
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
    }
  }
};

/** The headers of an error that tell its kind. */
const pickedHeaders = (headers: Dispatcher.ResponseData['headers']): object => {
  const { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type } = headers;
  return { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type };
};

/** Some backends quote the account. It must not reach codex's own error messages or a trace. */
const withoutSecrets = (relayed: RelayedRequest, body: Buffer): Buffer => {
  const said = body.toString('utf8');
  const hidden = hideSecrets(secretsIn(relayed))(said);
  return hidden === said ? body : Buffer.from(hidden);
};

const failureIn = (
  relayed: RelayedRequest,
  { statusCode, headers }: Dispatcher.ResponseData,
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
  answer: Dispatcher.ResponseData,
  body: Buffer,
  options: ForwardOptions,
): void => {
  const { 'content-length': _, ...headers } = responseHeaders(relayed, answer, options);
  relayed.outgoing.writeHead(answer.statusCode, headers);
  relayed.outgoing.end(body);
};

/** The app-server would follow a redirect past us, with the client's request. */
const redirected = (host: string): Failure =>
  failure('upstream_error', {
    message: `The upstream at ${host} answered with a redirect. On the server, check PROXY_UPSTREAM_BASE_URL.`,
  });

/** Reports a failure without an answer to pass on. */
const noAnswer = (relayed: RelayedRequest, call: ModelCall | null, failed: Failure): void => {
  call?.onUpstreamEvent({ kind: 'refused', failure: failed });
  relayed.outgoing.writeHead(502, { 'content-type': 'application/json' });
  relayed.outgoing.end('{"error":{"message":"the backend gave no answer"}}');
};

const pause = async (
  retry: number,
  atLeastSeconds: number,
  reason: string,
  relayed: RelayedRequest,
  options: ForwardOptions,
): Promise<void> => {
  options.onRetry(reason);
  const jittered = RETRY_DELAY_MS * 2 ** (retry - 1) * (0.5 + Math.random());
  const wait = sleep(Math.max(jittered, atLeastSeconds * 1000), undefined, { signal: relayed.signal });
  // If aborted while waiting, the next attempt fails.
  await wait.catch(() => {});
};

/** Whether a retry may succeed. */
const isTransientStatus = (status: number): boolean => status >= 500 && status !== 501;
