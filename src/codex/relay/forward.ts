import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { request as send, type Dispatcher } from 'undici';

import { failure } from '../../canonical/failure.ts';
import { isJsonObject } from '../../kit/json.ts';
import type { WireEvent } from '../translate/wire-report.ts';
import type { AffinityKey } from './affinity.ts';
import type { WireEdits } from './edits.ts';
import { httpFailure } from './http-failure.ts';
import type { EditField } from './profile.ts';
import { refusedField } from './refused-field.ts';
import { AnswerReader, type Findings } from './report.ts';

/** A turn of ours to which a model request belongs. */
export interface ModelCall {
  readonly model: string;
  readonly edits: WireEdits;
  readonly key: AffinityKey;
  /** Fields that this backend has just refused. */
  readonly withheld: ReadonlySet<EditField>;
  readonly findings: Findings;
  readonly onEvent: (event: WireEvent) => void;
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
  readonly onLearnt: (model: string, field: EditField) => void;
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
/** A backend that refuses one field after the other is not asked for ever. */
const MAX_WITHHELD = 8;
const HEADERS_TIMEOUT_MS = 300_000;
const BODY_TIMEOUT_MS = 300_000;
const MAX_ERROR_BYTES = 256 * 1024;

/** Passes a request of the app-server on, and streams the answer back byte for byte. */
export const forward = async (hop: Hop, call: ModelCall | null, options: ForwardOptions): Promise<void> => {
  for (let retries = 0; ;) {
    let answer: Dispatcher.ResponseData;
    try {
      answer = await sendOnce(hop, call, options);
    } catch (error) {
      if (hop.signal.aborted) return;
      if (retries < RETRIES) {
        retries += 1;
        await pause(retries, errorName(error), hop, options);
        continue;
      }
      refuseDown(hop, call);
      return;
    }
    if (answer.statusCode < 400) {
      await streamBack(hop, call, answer);
      return;
    }
    const body = await readError(answer);
    const text = body.toString('utf8');
    if (answer.statusCode >= 500 && answer.statusCode !== 501 && retries < RETRIES) {
      retries += 1;
      await pause(retries, `status ${answer.statusCode}`, hop, options);
      continue;
    }
    const field = call !== null && answer.statusCode === 400 ? refusedField(text, call.edits.fields) : null;
    if (call !== null && field !== null && !call.withheld.has(field) && call.withheld.size < MAX_WITHHELD) {
      call.withhold(field);
      options.onLearnt(call.model, field);
      continue;
    }
    errorBack(hop, call, answer, body);
    return;
  }
};

const sendOnce = (
  hop: Hop,
  call: ModelCall | null,
  options: ForwardOptions,
): Promise<Dispatcher.ResponseData> => {
  const body = call === null ? hop.body : editedBody(hop.body, call);
  return send(options.target + hop.path, {
    method: hop.method as Dispatcher.HttpMethod,
    headers: requestHeaders(hop.headers, call, options.apiKey),
    body: hop.method === 'GET' || hop.method === 'HEAD' ? null : body,
    signal: hop.signal,
    dispatcher: options.dispatcher,
    headersTimeout: HEADERS_TIMEOUT_MS,
    bodyTimeout: BODY_TIMEOUT_MS,
  });
};

const editedBody = (body: Buffer, call: ModelCall): Buffer | string => {
  const parsed: unknown = JSON.parse(body.toString('utf8'));
  return isJsonObject(parsed) ? JSON.stringify(call.edits.apply(parsed, call.withheld)) : body;
};

/** What concerns one connection only, and what we know better. */
const NOT_PASSED = new Set([
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'upgrade',
  'expect',
  'content-length',
]);
const SESSION_HEADERS = ['session-id', 'thread-id', 'x-client-request-id'];

const requestHeaders = (
  headers: IncomingHttpHeaders,
  call: ModelCall | null,
  apiKey: string | null,
): Record<string, string | string[]> => {
  const passed = withoutConnection(headers);
  if (apiKey !== null) passed['authorization'] = `Bearer ${apiKey}`;
  for (const name of call === null ? [] : SESSION_HEADERS) {
    if (passed[name] !== undefined) passed[name] = call?.key.session ?? '';
  }
  return passed;
};

const streamBack = async (
  hop: Hop,
  call: ModelCall | null,
  answer: Dispatcher.ResponseData,
): Promise<void> => {
  const { outgoing } = hop;
  const reader = call === null ? null : new AnswerReader(call.findings, call.onEvent);
  if (call !== null) call.headers = callerHeaders(answer.headers);
  outgoing.writeHead(answer.statusCode, withoutConnection(answer.headers));
  try {
    for await (const chunk of answer.body as AsyncIterable<Buffer>) {
      // First read, then passed on: what the app-server says about a chunk comes after our report of it.
      reader?.push(chunk);
      if (!outgoing.write(chunk)) await once(outgoing, 'drain', { signal: hop.signal });
    }
    outgoing.end();
  } catch {
    // Cut off upstream, or nobody is left downstream: in both cases the app-server's connection ends too.
    outgoing.destroy();
  }
};

const errorBack = (hop: Hop, call: ModelCall | null, answer: Dispatcher.ResponseData, body: Buffer): void => {
  if (call !== null) {
    const failed = httpFailure(answer.statusCode, body.toString('utf8'), retryAfterOf(answer.headers));
    call.findings.failure = { ...failed, headers: { ...failed.headers, ...callerHeaders(answer.headers) } };
  }
  hop.outgoing.writeHead(answer.statusCode, withoutConnection(answer.headers));
  hop.outgoing.end(body);
};

/** The backend could not be reached at all. */
const refuseDown = (hop: Hop, call: ModelCall | null): void => {
  if (call !== null) call.findings.failure = failure('upstream_unreachable');
  hop.outgoing.writeHead(502, { 'content-type': 'application/json' });
  hop.outgoing.end('{"error":{"message":"the backend could not be reached"}}');
};

const withoutConnection = (headers: IncomingHttpHeaders): Record<string, string | string[]> => {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !NOT_PASSED.has(name)) passed[name] = value;
  }
  return passed;
};

/** What the client may want to know: the backend's request id, and how much of its limits is left. */
const callerHeaders = (headers: IncomingHttpHeaders): Record<string, string> => {
  const told: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (name === 'x-request-id') told['x-upstream-request-id'] = String(value);
    else if (name.startsWith('x-ratelimit-')) told[name] = String(value);
  }
  return told;
};

const retryAfterOf = (headers: IncomingHttpHeaders): number | null => {
  const value = headers['retry-after'];
  if (value === undefined) return null;
  const seconds = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.ceil(seconds) : null;
};

const readError = async (answer: Dispatcher.ResponseData): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks);
};

const pause = async (retry: number, reason: string, hop: Hop, options: ForwardOptions): Promise<void> => {
  options.onRetry(reason);
  const delay = RETRY_DELAY_MS * 2 ** (retry - 1);
  // Aborted while waiting: the next attempt to send finds that out.
  await sleep(delay * (0.5 + Math.random()), undefined, { signal: hop.signal }).catch(() => {});
};

const errorName = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.name) : 'unknown';
