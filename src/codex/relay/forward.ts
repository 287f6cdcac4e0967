import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { request as send, type Dispatcher } from 'undici';

import { failure, type Failure } from '../../canonical/failure.ts';
import { parseJsonObject, wellFormedJson, type JsonObject } from '../../kit/json.ts';
import { tooLate } from '../failures/classify.ts';
import { hostOf, unreachable } from '../failures/unreachable.ts';
import { passOn, readBeginning, type Beginning } from './beginning.ts';
import { codeOf, isConnectionError, isLasting, isTimeout, readError } from './connection.ts';
import type { CookieJar } from './cookies.ts';
import type { EditContext, InputFindings, WireEdits } from './edits.ts';
import { callerHeaders, endToEnd, requestHeaders, type Headers, type Session } from './headers.ts';
import { httpFailure, sourceOf, streamFailure } from './http-failure.ts';
import type { EditField } from './profile.ts';
import { refusedField } from './refused-field.ts';
import { sentOnce } from './sent-once.ts';
import { AnswerReader, type AnswerListener, type Findings } from './report.ts';

/** A turn of ours to which a model request belongs. */
export interface ModelCall {
  readonly model: string;
  readonly edits: WireEdits;
  readonly session: Session;
  /** Fields that this backend has just refused. */
  readonly withheld: ReadonlySet<EditField>;
  readonly findings: Findings;
  readonly onEvent: AnswerListener;
  /** Whether the model has not answered in this turn yet. */
  readonly isFirstRequest: boolean;
  headers: Readonly<Record<string, string>>;
  onInput(found: InputFindings): void;
  withhold(field: EditField): void;
}

export interface ForwardOptions {
  readonly dispatcher: Dispatcher;
  /** Null: cookies are between the app-server and its backend. */
  readonly cookies: CookieJar | null;
  readonly onRetry: (reason: string) => void;
  /** A request was answered once these fields were left out. */
  readonly onLearnt: (model: string, field: EditField) => void;
  /** From sending a model request to the first byte of its answer. */
  readonly onFirstByte: (ms: number) => void;
  /** A page of Cloudflare's came instead of an answer to a model request, or to the renewal of a login. */
  readonly onBlocked: () => void;
  /** How the last renewal of a login went; null: well. */
  readonly onSignIn: (failed: Failure | null) => void;
  /** The backend itself answered a model request, with whatever. */
  readonly onServed: () => void;
}

export interface Hop {
  /** What it asks for: the model, the renewal of a login, or something that the turn can do without. */
  readonly purpose: 'model' | 'sign-in' | 'other';
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

/** How often a request is sent again that came to nothing before its first byte. */
const RETRIES = 2;
const RETRY_DELAY_MS = 150;
/** A backend that needs longer than this to fail has used up the client's patience. */
const RETRY_WITHIN_MS = 30_000;
/** A backend that asks for a longer pause than this gets no second try: its wish goes to the client. */
const MAX_PAUSE_SECONDS = 2;
/** A backend that refuses one field after the other is not asked for ever. */
const MAX_WITHHELD = 8;
/** An overloaded backend says so at once; a model that thinks first is not to be kept from saying that it does. */
const HOLD_MS = 3_000;
const HEADERS_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 300_000;

/** Passes a request of the app-server on, and streams the answer back byte for byte. */
export const forward = async (hop: Hop, call: ModelCall | null, options: ForwardOptions): Promise<void> => {
  const startedAt = performance.now();
  const host = hostOf(hop.target);
  const refused: EditField[] = [];
  let retries = 0;
  // A login is renewed once: its old token may be void even if the answer got lost on the way.
  const maxRetries = hop.purpose === 'sign-in' ? 0 : RETRIES;
  const timeLeft = (): number =>
    retries < maxRetries ? RETRY_WITHIN_MS - (performance.now() - startedAt) : 0;
  const again = async (seconds: number, reason: string): Promise<void> => {
    retries += 1;
    await pause(retries, seconds, reason, hop, options);
  };
  for (;;) {
    let begun: BegunAnswer;
    try {
      begun = await sendOnce(hop, call, timeLeft(), options);
    } catch (error) {
      const code = codeOf(error);
      if (hop.signal.aborted) {
        hop.outgoing.destroy();
        return;
      }
      if (!isConnectionError(error)) throw error;
      if (!isLasting(code) && timeLeft() > 0) {
        await again(0, code);
        continue;
      }
      const failed = isTimeout(code) ? tooLate(host) : unreachable(host, code);
      if (hop.purpose === 'sign-in') options.onSignIn(failed);
      noAnswer(hop, call, failed);
      return;
    }
    const { answer, beginning } = begun;
    const { statusCode } = answer;
    if (call !== null && statusCode >= 300 && statusCode < 400) {
      await begun.chunks.return?.();
      noAnswer(hop, call, redirected(host));
      return;
    }
    if (beginning?.failure?.kind === 'upstream_overloaded' && timeLeft() > 0) {
      await begun.chunks.return?.();
      await again(0, 'overloaded');
      continue;
    }
    if (statusCode < 400) {
      if (hop.purpose === 'model') options.onServed();
      if (hop.purpose === 'sign-in') options.onSignIn(null);
      if (call !== null) {
        for (const field of refused) options.onLearnt(call.model, field);
        options.onFirstByte(begun.firstByteMs);
      }
      hop.body = NOTHING;
      await streamBack(hop, call, begun, options);
      return;
    }
    const error = await readError(answer);
    const failed = failureIn(hop, answer, error);
    const isBlocked = failed.kind === 'upstream_blocked';
    if (hop.purpose !== 'other' && isBlocked) options.onBlocked();
    if (hop.purpose === 'model' && !isBlocked) options.onServed();
    // What the service says about the login itself, codex repeats in its own words.
    if (hop.purpose === 'sign-in') options.onSignIn(isBlocked ? failed : null);
    const retryAfter = failed.retryAfterSeconds ?? 0;
    if (isPassingStatus(statusCode) && !isBlocked && retryAfter <= MAX_PAUSE_SECONDS && timeLeft() > 0) {
      await again(retryAfter, `status ${statusCode}`);
      continue;
    }
    const field = call === null ? null : refusedBy(statusCode, error, call);
    if (call !== null && field !== null) {
      refused.push(field);
      call.withhold(field);
      continue;
    }
    if (call !== null) call.findings.failure = failed;
    errorBack(hop, answer, error, options);
    return;
  }
};

/** An answer whose head has come, and the beginning of its body where the body is the answer. */
interface BegunAnswer {
  readonly answer: Dispatcher.ResponseData;
  readonly chunks: AsyncIterator<Buffer>;
  readonly beginning: Beginning | null;
  readonly firstByteMs: number;
}

const sendOnce = async (
  hop: Hop,
  call: ModelCall | null,
  retryWithinMs: number,
  options: ForwardOptions,
): Promise<BegunAnswer> => {
  const sentAt = performance.now();
  const url = hop.target + hop.path;
  const answer = await send(url, {
    method: hop.method,
    ...bodyOf(
      hop,
      call,
      withCookies(requestHeaders(hop.headers, call?.session ?? null, hop.apiKey), url, options),
    ),
    signal: hop.signal,
    dispatcher: options.dispatcher,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
  });
  options.cookies?.keep(url, answer.headers['set-cookie']);
  const chunks = (answer.body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  if (answer.statusCode >= 400) return { answer, chunks, beginning: null, firstByteMs: 0 };
  // A backend that breaks off here has said nothing yet: the request may be sent again.
  const first = await chunks.next();
  const firstByteMs = performance.now() - sentAt;
  const beginning =
    call !== null && first.done !== true && retryWithinMs > 0 && isEventStream(answer.headers)
      ? await readBeginning(first.value, chunks, Math.min(retryWithinMs, HOLD_MS), toStreamFailure(hop))
      : { held: [], pending: Promise.resolve(first), failure: null };
  return { answer, chunks, beginning, firstByteMs };
};

const NOTHING = Buffer.alloc(0);

/** The body as it is sent. It is read anew for every attempt: what was read of it would be as large again. */
const bodyOf = (
  hop: Hop,
  call: ModelCall | null,
  headers: Headers,
): Pick<Dispatcher.RequestOptions, 'body' | 'headers'> => {
  if (hop.method === 'GET' || hop.method === 'HEAD') return { headers, body: null };
  const body = call === null ? null : parseJsonObject(hop.body.toString('utf8'));
  const edited =
    call === null || body === null
      ? hop.body
      : Buffer.from(wellFormedJson(call.edits.apply(body, editContext(call))));
  return { headers: { ...headers, 'content-length': String(edited.length) }, body: sentOnce(edited) };
};

const editContext = (call: ModelCall): EditContext => ({
  without: call.withheld,
  isFirstRequest: call.isFirstRequest,
  onInput: (found) => call.onInput(found),
});

const withCookies = (headers: Headers, url: string, { cookies }: ForwardOptions): Headers => {
  const own = cookies?.headerFor(url) ?? null;
  return own === null ? headers : { ...headers, cookie: [headers['cookie'] ?? [], own].flat().join('; ') };
};

/** What the app-server gets of the headers: cookies that we keep for it are not among them. */
const passedBack = (hop: Hop, answer: Dispatcher.ResponseData, { cookies }: ForwardOptions): Headers => {
  const { 'set-cookie': set, ...headers } = endToEnd(answer.headers);
  return set === undefined || cookies?.isFor(hop.target) === true
    ? headers
    : { ...headers, 'set-cookie': set };
};

const isEventStream = (headers: IncomingHttpHeaders): boolean =>
  headers['content-encoding'] === undefined && (headers['content-type'] ?? '').includes('event-stream');

const streamBack = async (
  hop: Hop,
  call: ModelCall | null,
  { answer, chunks, beginning }: BegunAnswer,
  options: ForwardOptions,
): Promise<void> => {
  const { outgoing, signal } = hop;
  const reader = call === null ? null : new AnswerReader(call.findings, call.onEvent, toStreamFailure(hop));
  if (call !== null) call.headers = callerHeaders(answer.headers);
  try {
    outgoing.writeHead(answer.statusCode, passedBack(hop, answer, options));
    reader?.begin();
    for await (const chunk of passOn(beginning ?? { held: [], pending: null }, chunks)) {
      // First read, then passed on: what the app-server says about a chunk comes after our report of it.
      reader?.push(chunk);
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal });
    }
    reader?.end();
    outgoing.end();
  } catch (error) {
    // Cut off upstream, or nobody is left downstream: the app-server's connection ends too, behind what
    // was said before, and that is all.
    if (signal.aborted) outgoing.destroy();
    else outgoing.socket?.destroySoon();
    if (!isConnectionError(error)) throw error;
  }
};

const toStreamFailure =
  (hop: Hop) =>
  (event: JsonObject): Failure =>
    streamFailure(event, sourceOf(hop.target, hop.headers, hop.apiKey));

const failureIn = (hop: Hop, { statusCode, headers }: Dispatcher.ResponseData, body: Buffer): Failure => {
  const answer = { status: statusCode, headers, body: body.toString('utf8') };
  const failed = httpFailure(answer, sourceOf(hop.target, hop.headers, hop.apiKey));
  return { ...failed, headers: { ...failed.headers, ...callerHeaders(headers) } };
};

const refusedBy = (status: number, body: Buffer, call: ModelCall): EditField | null => {
  if ((status !== 400 && status !== 422) || call.withheld.size >= MAX_WITHHELD) return null;
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
  if (call !== null) call.findings.failure = failed;
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
