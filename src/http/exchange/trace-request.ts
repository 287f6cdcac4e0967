import { failureOf } from '../../canonical/failure/failure.ts';
import type { ModelNames } from '../../canonical/models/model-names.ts';
import { NO_TRACE, type OpenTrace, type Trace } from '../../canonical/context/trace.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { MARKER_HEADERS } from '../../apis/clients/markers.ts';
import type { Api } from '../../turns/api.ts';
import type { Exchange } from './exchange.ts';
import { NAMING_HEADERS } from './session.ts';
import { TRACE_HEADERS } from './trace-context.ts';

/** Writes the traces of requests. */
export interface Captures {
  /** Null: there is no room for another one. */
  open(requestId: string): OpenTrace | null;
}

/** A request whose body is read later. */
export interface TracedRequest {
  readonly exchange: Exchange;
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
}

/** Keeps the trace of a request open until this has ended too. */
export type KeepTrace = (until: Promise<unknown>) => void;

/** Captures a request completely if capture is on. */
export const traced = async <Answer>(
  { exchange, method, path, headers }: TracedRequest,
  { errors }: Pick<Api, 'errors'>,
  deps: { readonly captures: Captures | null },
  answer: (trace: Trace, keepTrace: KeepTrace) => Promise<Answer>,
): Promise<Answer> => {
  const trace = deps.captures?.open(exchange.requestId) ?? null;
  if (trace === null) return answer(NO_TRACE, () => {});
  let until: Promise<unknown> = Promise.resolve();
  exchange.atEnd(() => void until.then(() => trace.end({ isAborted: exchange.signal.aborted })));
  trace.record('asked', { method, path, head: safeHeaders(headers) });
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
