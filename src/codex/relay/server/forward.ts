import { setTimeout as sleep } from 'node:timers/promises';

import type { Dispatcher } from 'undici';

import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { hideSecrets } from '../../../kit/text/hide-secrets.ts';
import { silentFailure } from '../../failures/classify.ts';
import { hostOf, unreachable } from '../../failures/unreachable.ts';
import { codeOf, isConnectionError, isLasting, readShortBody } from '../transport/connection.ts';
import { callerHeaders } from '../request/headers.ts';
import { passedBack, type ForwardOptions, type Hop, type ModelCall } from './hop.ts';
import { httpFailure, sourceOf } from '../answer/http-failure.ts';
import { IdleTimeout } from '../transport/idle-timeout.ts';
import type { EditField } from '../../capabilities/profile.ts';
import { refusedField } from '../request/refused-field.ts';
import { sendOnce, type BegunAnswer } from '../transport/send-once.ts';
import { streamBack } from '../answer/stream-back.ts';

/** How often a request is sent again that came to nothing before its first byte. */
const RETRIES = 2;
const RETRY_DELAY_MS = 150;
/** A backend that needs longer than this to fail has used up the client's patience. */
const RETRY_WITHIN_MS = 30_000;
/** A backend that asks for a longer pause than this gets no second try: its wish goes to the client. */
const MAX_PAUSE_SECONDS = 2;
/** A backend that refuses one field after the other is not asked for ever. */
const MAX_WITHHELD = 8;
const NOTHING = Buffer.alloc(0);

/** Passes a request of the app-server on, and streams the answer back byte for byte. */
export const forward = async (hop: Hop, call: ModelCall | null, options: ForwardOptions): Promise<void> => {
  const startedAt = performance.now();
  const host = hostOf(hop.target);
  const refused: EditField[] = [];
  let retries = 0;
  // codex itself tries again what it asks for beside the model.
  const maxRetries = hop.purpose === 'model' ? RETRIES : 0;
  const timeLeft = (): number =>
    retries < maxRetries && call?.budget.isSpent !== true
      ? RETRY_WITHIN_MS - (performance.now() - startedAt)
      : 0;
  const again = async (seconds: number, reason: string): Promise<void> => {
    retries += 1;
    await pause(retries, seconds, reason, hop, options);
  };
  const attempt = async (idleTimeout: IdleTimeout): Promise<'over' | 'again'> => {
    let begun: BegunAnswer;
    if (call !== null && !call.budget.take()) {
      noAnswer(hop, call, call.budget.exceeded());
      return 'over';
    }
    try {
      begun = await sendOnce({ hop, call, retryWithinMs: timeLeft(), idleTimeout, options });
    } catch (error) {
      const code = codeOf(error);
      if (hop.signal.aborted) {
        hop.outgoing.destroy();
        return 'over';
      }
      if (!idleTimeout.isAtEnd && !isConnectionError(error)) throw error;
      // Nobody should wait as long once more.
      if (!idleTimeout.isAtEnd && !isLasting(code) && timeLeft() > 0) {
        await again(0, code);
        return 'again';
      }
      const failed = idleTimeout.isAtEnd
        ? silentFailure(host, options.idleTimeoutMs)
        : unreachable(host, code);
      noAnswer(hop, call, failed);
      return 'over';
    }
    const { answer, beginning } = begun;
    const { statusCode } = answer;
    if (call !== null && statusCode >= 300 && statusCode < 400) {
      await begun.chunks.return?.();
      noAnswer(hop, call, redirected(host));
      return 'over';
    }
    if (beginning?.failure?.kind === 'upstream_overloaded' && timeLeft() > 0) {
      await begun.chunks.return?.();
      await again(0, 'overloaded');
      return 'again';
    }
    if (statusCode < 400) {
      if (hop.purpose === 'model') options.onServed();
      if (call !== null) {
        for (const field of refused) options.onLearnt(call.model, field);
        options.onFirstByte(begun.firstByteMs);
      }
      hop.body = NOTHING;
      await streamBack(hop, call, begun, idleTimeout, options);
      return 'over';
    }
    const said = await readShortBody(answer);
    const error = call === null ? said : withoutSecrets(hop, said);
    const failed = failureIn(hop, answer, error);
    const isBlocked = failed.kind === 'upstream_blocked';
    if (hop.purpose === 'model' && isBlocked) options.onBlocked();
    if (hop.purpose === 'model' && !isBlocked) options.onServed();
    const retryAfter = failed.retryAfterSeconds ?? 0;
    if (isPassingStatus(statusCode) && !isBlocked && retryAfter <= MAX_PAUSE_SECONDS && timeLeft() > 0) {
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
    if (call !== null && field !== null) {
      refused.push(field);
      call.withhold(field);
      return 'again';
    }
    call?.onUpstreamEvent({ kind: 'refused', failure: failed });
    errorBack(hop, answer, error, options);
    return 'over';
  };
  for (;;) {
    const idleTimeout = new IdleTimeout(options.idleTimeoutMs, hop.signal);
    try {
      if ((await attempt(idleTimeout)) === 'over') return;
    } finally {
      idleTimeout.stop();
    }
  }
};

/** Of the headers of an error, those that say what kind of error it is. */
const pickedHeaders = (headers: Dispatcher.ResponseData['headers']): object => {
  const { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type } = headers;
  return { 'retry-after': retryAfter, 'cf-mitigated': mitigated, 'content-type': type };
};

/** Some backends quote the account. Neither codex, who tells it in its own words, nor a story is to do so. */
const withoutSecrets = ({ target, headers, apiKey }: Hop, body: Buffer): Buffer => {
  const said = body.toString('utf8');
  const hidden = hideSecrets(sourceOf(target, headers, apiKey).secrets)(said);
  return hidden === said ? body : Buffer.from(hidden);
};

const failureIn = (hop: Hop, { statusCode, headers }: Dispatcher.ResponseData, body: Buffer): Failure => {
  const answer = { status: statusCode, headers, body: body.toString('utf8') };
  const source = sourceOf(hop.target, hop.headers, hop.apiKey);
  const failed = httpFailure(answer, source);
  return { ...failed, headers: { ...failed.headers, ...callerHeaders(headers, source.secrets) } };
};

const refusedBy = (status: number, body: Buffer, call: ModelCall): EditField | null => {
  if ((status !== 400 && status !== 422) || call.withheld.size >= MAX_WITHHELD) return null;
  if (call.budget.isSpent) return null;
  const field = refusedField(body.toString('utf8'), call.edits.fields);
  return field === null || call.withheld.has(field) ? null : field;
};

const errorBack = (
  hop: Hop,
  answer: Dispatcher.ResponseData,
  body: Buffer,
  options: ForwardOptions,
): void => {
  const { 'content-length': _, ...headers } = passedBack(hop, answer, options);
  hop.outgoing.writeHead(answer.statusCode, headers);
  hop.outgoing.end(body);
};

/** The app-server would follow it, past us and with the client's request in its hands. */
const redirected = (host: string): Failure =>
  failure('upstream_error', {
    message: `The upstream at ${host} answered with a redirect. On the server, check PROXY_UPSTREAM_BASE_URL.`,
  });

/** There is no answer that could be passed on. */
const noAnswer = (hop: Hop, call: ModelCall | null, failed: Failure): void => {
  call?.onUpstreamEvent({ kind: 'refused', failure: failed });
  hop.outgoing.writeHead(502, { 'content-type': 'application/json' });
  hop.outgoing.end('{"error":{"message":"the backend gave no answer"}}');
};

const pause = async (
  retry: number,
  atLeastSeconds: number,
  reason: string,
  hop: Hop,
  options: ForwardOptions,
): Promise<void> => {
  options.onRetry(reason);
  const jittered = RETRY_DELAY_MS * 2 ** (retry - 1) * (0.5 + Math.random());
  const wait = sleep(Math.max(jittered, atLeastSeconds * 1000), undefined, { signal: hop.signal });
  // Aborted while waiting: the next attempt to send finds that out.
  await wait.catch(() => {});
};

/** A moment later it may be different. */
const isPassingStatus = (status: number): boolean => status >= 500 && status !== 501;
