import { failureOf } from '../../canonical/failure/failure.ts';
import type { ModelNames } from '../../canonical/models/model-names.ts';
import { RequestTrace } from '../../canonical/context/request-trace.ts';
import { NO_TRACE, type OpenRecorder, type Recorder, type Trace } from '../../canonical/context/trace.ts';
import type { Clock } from '../../kit/ambient.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { MARKER_HEADERS } from '../../apis/clients/detect-client.ts';
import type { Api } from '../../turns/api.ts';
import type { Exchange } from './exchange.ts';
import { NAMING_HEADERS } from './session.ts';
import { TRACE_HEADERS } from './trace-context.ts';

/** Writes requests to files. */
export interface Captures {
  /** Null: this request is not captured, or there is no room for another one. */
  open(requestId: string, keyId: string): OpenCapture | null;
}

/** Also reads what was written. */
export interface CaptureFiles extends Captures {
  /** Whether every request is captured; else only those that an administrator asked for. */
  readonly isAlways: boolean;
  /** What the capture with this name says; null: there is none, or not any more. */
  read(name: string): Promise<CapturedRequest | null>;
}

/** What a capture says about a request. Secrets, encrypted texts and very long ones are replaced in it. */
export interface CapturedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: JsonObject;
  /** Null: the body could not be read, or is too large to be shown. */
  readonly body: JsonObject | null;
  /** What was sent to the backend, in order. */
  readonly modelRequests: readonly JsonObject[];
  /** Some lines are too long to be read, or there are too many requests. */
  readonly isPartial: boolean;
}

interface OpenCapture extends OpenRecorder {
  /** The name of its file. */
  readonly name: string;
}

/** A request whose body is read later. */
export interface TracedRequest {
  readonly exchange: Exchange;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

/** The trace of a request goes on until this has ended too. Its spans are then not those of the exchange. */
export type KeepTrace = (until: Promise<unknown>) => void;

export interface TraceDeps {
  readonly captures: Captures | null;
  readonly ambient: { readonly clock: Clock };
}

/** Measures the parts of a request, and captures it completely if capture is on. */
export const traced = async <Answer>(
  { exchange, method, path, headers }: TracedRequest,
  { errors }: Api,
  deps: TraceDeps,
  answer: (trace: RequestTrace, keepTrace: KeepTrace) => Promise<Answer>,
): Promise<Answer> => {
  const capture = deps.captures?.open(exchange.requestId, exchange.caller()) ?? null;
  const trace = openTrace(exchange, capture ?? NO_TRACE, deps);
  if (capture !== null) exchange.note({ capture: capture.name });
  let until: Promise<unknown> | null = null;
  exchange.atEnd(() => {
    if (until === null) exchange.note({ spans: trace.finish() });
    if (capture !== null) void endCapture(capture, trace, exchange, until);
  });
  if (trace.isRecording) trace.record('asked', { method, path, head: safeHeaders(headers) });
  try {
    return await answer(trace, (ended) => {
      until = ended;
    });
  } catch (error) {
    const { status, body } = errors(failureOf(error), exchange.requestId);
    trace.record('answered', { status, body });
    throw error;
  }
};

/** Opens the trace of a request that arrived then. */
export const openTrace = (
  { startedAt, distributed }: Pick<Exchange, 'startedAt' | 'distributed'>,
  recorder: Recorder,
  { ambient }: TraceDeps,
): RequestTrace => {
  const arrivedAt = performance.now() - Math.max(0, ambient.clock.now() - startedAt);
  return new RequestTrace({ recorder, now: () => performance.now() - arrivedAt, distributed });
};

const endCapture = async (
  capture: OpenRecorder,
  trace: RequestTrace,
  { signal }: Exchange,
  until: Promise<unknown> | null,
): Promise<void> => {
  await until;
  capture.record('spans', trace.finish());
  await capture.end({ isAborted: signal.aborted });
};

/** Records what a replay needs besides the headers. */
export const recordBody = (trace: Trace, body: unknown, models: ModelNames): void => {
  const name = isJsonObject(body) ? body['model'] : null;
  const asked = typeof name === 'string' ? name : '';
  trace.record('body', {
    body,
    models: {
      asked,
      resolved: models.resolve(asked),
      listed: models.list.models.slice(0, MAX_MODELS),
      standard: models.list.standard,
    },
  });
};

const MAX_MODELS = 50;

/** An allow-list, because other headers may be secrets. Every header that the proxy reads is needed for a replay. */
const HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'content-encoding',
  'content-length',
  'content-type',
  'version',
  'x-request-id',
  ...NAMING_HEADERS,
  ...MARKER_HEADERS,
  ...TRACE_HEADERS,
]);
const PREFIXES = ['openai-beta', 'x-codex-', 'x-proxy-', 'x-stainless-'];

export const safeHeaders = (headers: Headers): Record<string, string> =>
  Object.fromEntries(
    [...headers]
      .filter(([name]) => HEADERS.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix)))
      .map(([name, value]) => [name, value.slice(0, 1_000)]),
  );
