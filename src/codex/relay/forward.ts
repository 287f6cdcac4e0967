import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { request as send, type Dispatcher } from 'undici';

import { failure, type Failure } from '../../canonical/failure.ts';
import { isJsonObject, wellFormedJson, type JsonObject } from '../../kit/json.ts';
import type { WireEdits } from './edits.ts';
import { callerHeaders, endToEnd, requestHeaders, retryAfterOf, type Session } from './headers.ts';
import { httpFailure } from './http-failure.ts';
import type { EditField } from './profile.ts';
import { refusedField } from './refused-field.ts';
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
  headers: Readonly<Record<string, string>>;
  withhold(field: EditField): void;
}

export interface ForwardOptions {
  /** Without a slash at its end. */
  readonly target: string;
  /** Set where the key is ours and not the app-server's. */
  readonly apiKey: string | null;
  readonly dispatcher: Dispatcher;
  readonly onRetry: (reason: string) => void;
  /** A request was answered once these fields were left out. */
  readonly onLearnt: (model: string, field: EditField) => void;
  /** From sending a model request to the first byte of its answer. */
  readonly onFirstByte: (ms: number) => void;
}

export interface Hop {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
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
const HEADERS_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 300_000;
const MAX_ERROR_BYTES = 256 * 1024;
const ERROR_BODY_TIMEOUT_MS = 5_000;

/** Passes a request of the app-server on, and streams the answer back byte for byte. */
export const forward = async (hop: Hop, call: ModelCall | null, options: ForwardOptions): Promise<void> => {
  const startedAt = performance.now();
  const body = call === null ? null : parseBody(hop.body);
  const refused: EditField[] = [];
  let retries = 0;
  const mayRetry = (): boolean => retries < RETRIES && performance.now() - startedAt < RETRY_WITHIN_MS;
  for (;;) {
    let begun: BegunAnswer;
    try {
      begun = await sendOnce(hop, call, body, options);
    } catch (error) {
      if (hop.signal.aborted) {
        hop.outgoing.destroy();
        return;
      }
      if (!isConnectionError(error)) throw error;
      if (!LASTING.has(codeOf(error)) && mayRetry()) {
        retries += 1;
        await pause(retries, 0, codeOf(error), hop, options);
        continue;
      }
      noAnswer(hop, call, TIMEOUTS.has(codeOf(error)) ? tooLate : failure('upstream_unreachable'));
      return;
    }
    const { answer } = begun;
    if (call !== null && answer.statusCode >= 300 && answer.statusCode < 400) {
      await begun.chunks.return?.();
      noAnswer(hop, call, redirected);
      return;
    }
    if (answer.statusCode < 400) {
      if (call !== null) {
        for (const field of refused) options.onLearnt(call.model, field);
        options.onFirstByte(performance.now() - begun.sentAt);
      }
      await streamBack(hop, call, begun);
      return;
    }
    const error = await readError(answer);
    const retryAfter = retryAfterOf(answer.headers, Date.now());
    if (isPassingStatus(answer.statusCode) && (retryAfter ?? 0) <= MAX_PAUSE_SECONDS && mayRetry()) {
      retries += 1;
      await pause(retries, retryAfter ?? 0, `status ${answer.statusCode}`, hop, options);
      continue;
    }
    const field = call === null ? null : refusedBy(answer.statusCode, error, call);
    if (call !== null && field !== null) {
      refused.push(field);
      call.withhold(field);
      continue;
    }
    errorBack(hop, call, answer, error);
    return;
  }
};

/** An answer whose head has come, and the first piece of its body where the body is the answer. */
interface BegunAnswer {
  readonly answer: Dispatcher.ResponseData;
  readonly chunks: AsyncIterator<Buffer>;
  readonly first: IteratorResult<Buffer> | null;
  readonly sentAt: number;
}

const sendOnce = async (
  hop: Hop,
  call: ModelCall | null,
  body: JsonObject | null,
  options: ForwardOptions,
): Promise<BegunAnswer> => {
  const sentAt = performance.now();
  const edited =
    call === null || body === null ? hop.body : wellFormedJson(call.edits.apply(body, call.withheld));
  const answer = await send(options.target + hop.path, {
    method: hop.method,
    headers: requestHeaders(hop.headers, call?.session ?? null, options.apiKey),
    body: hop.method === 'GET' || hop.method === 'HEAD' ? null : edited,
    signal: hop.signal,
    dispatcher: options.dispatcher,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
  });
  const chunks = (answer.body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  // A backend that breaks off here has said nothing yet: the request may be sent again.
  const first = answer.statusCode < 400 ? await chunks.next() : null;
  return { answer, chunks, first, sentAt };
};

/** Null: it cannot be read, so it cannot be edited; what to make of it is the backend's business. */
const parseBody = (body: Buffer): JsonObject | null => {
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'));
    return isJsonObject(parsed) ? parsed : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

const streamBack = async (
  { outgoing, signal }: Hop,
  call: ModelCall | null,
  { answer, chunks, first }: BegunAnswer,
): Promise<void> => {
  const reader = call === null ? null : new AnswerReader(call.findings, call.onEvent);
  if (call !== null) call.headers = callerHeaders(answer.headers);
  try {
    outgoing.writeHead(answer.statusCode, endToEnd(answer.headers));
    reader?.begin();
    for (let step = first ?? (await chunks.next()); step.done !== true; step = await chunks.next()) {
      // First read, then passed on: what the app-server says about a chunk comes after our report of it.
      reader?.push(step.value);
      if (!outgoing.write(step.value)) await once(outgoing, 'drain', { signal });
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy();
    // Cut off upstream, or nobody is left downstream: the app-server's connection ends too, and that is all.
    if (!isConnectionError(error)) throw error;
  } finally {
    await chunks.return?.();
  }
};

const refusedBy = (status: number, body: Buffer, call: ModelCall): EditField | null => {
  if ((status !== 400 && status !== 422) || call.withheld.size >= MAX_WITHHELD) return null;
  const field = refusedField(body.toString('utf8'), call.edits.fields);
  return field === null || call.withheld.has(field) ? null : field;
};

const errorBack = (hop: Hop, call: ModelCall | null, answer: Dispatcher.ResponseData, body: Buffer): void => {
  if (call !== null) {
    const retryAfter = retryAfterOf(answer.headers, Date.now());
    const failed = httpFailure(answer.statusCode, body.toString('utf8'), retryAfter);
    call.findings.failure = { ...failed, headers: { ...failed.headers, ...callerHeaders(answer.headers) } };
  }
  const { 'content-length': _, ...headers } = endToEnd(answer.headers);
  hop.outgoing.writeHead(answer.statusCode, headers);
  hop.outgoing.end(body);
};

const tooLate = failure('upstream_error', { message: 'The upstream did not answer in time.' });

/** The app-server would follow it, past us and with the client's request in its hands. */
const redirected = failure('upstream_error', {
  message: 'The upstream answered with a redirect. Check PROXY_UPSTREAM_BASE_URL.',
});

/** There is no answer that could be passed on. */
const noAnswer = (hop: Hop, call: ModelCall | null, failed: Failure): void => {
  if (call !== null) call.findings.failure = failed;
  hop.outgoing.writeHead(502, { 'content-type': 'application/json' });
  hop.outgoing.end('{"error":{"message":"the backend gave no answer"}}');
};

/** The body of an error, as far as it comes soon and is not too long: its status says enough. */
const readError = async (answer: Dispatcher.ResponseData): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  const timer = setTimeout(() => answer.body.destroy(), ERROR_BODY_TIMEOUT_MS);
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_ERROR_BYTES) break;
    }
  } catch (error) {
    if (!isConnectionError(error)) throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(chunks);
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

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);
/** Those that no second try would change, at least not while the client waits. */
const LASTING = new Set([...TIMEOUTS, 'UND_ERR_INVALID_ARG', 'ERR_INVALID_URL', 'ECONNREFUSED']);

/** Errors of a connection have a code, and aborts a name; anything else is a mistake of ours. */
const isConnectionError = (error: unknown): boolean =>
  codeOf(error) !== '' || (error instanceof Error && error.name === 'AbortError');

const codeOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : '';
};
