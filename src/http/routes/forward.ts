import { failureOf, gatewayError } from '../../canonical/failure/failure.ts';
import type { Forwarder } from '../../forward/forwarder.ts';
import type { Limiter } from '../../kit/async/limiter.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import { passedOn } from '../answer/passed-on.ts';
import { bodyStream } from '../body/body-stream.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { route, type Route } from '../route.ts';

/** A provider, and the queue for it. */
export interface ForwardTarget {
  readonly forwarder: Pick<Forwarder, 'forward'>;
  /** Queues requests fairly between keys. */
  readonly line: Pick<Limiter, 'enter'>;
}

export interface ForwardDeps {
  /** Null: no provider is configured. */
  readonly embeddings: ForwardTarget | null;
  readonly transcriptions: ForwardTarget | null;
  readonly maxBodyBytes: number;
  /** Holds keys to their limits. */
  readonly gate: Pick<TurnGate, 'forward'>;
}

interface Endpoint {
  readonly path: string;
  readonly provider: 'embeddings' | 'transcriptions';
  /** What a configured setting looks like, for the error without one. */
  readonly example: string;
}

const ENDPOINTS: readonly Endpoint[] = [
  {
    path: '/embeddings',
    provider: 'embeddings',
    example: 'PROXY_EMBEDDINGS_BASE_URL=http://127.0.0.1:11434/v1',
  },
  {
    path: '/audio/transcriptions',
    provider: 'transcriptions',
    example: 'PROXY_TRANSCRIPTIONS_BASE_URL=https://api.openai.com/v1',
  },
];

/** Endpoints that the backend does not have: forwarded unchanged to another provider, if one is configured. */
export const forwardRoutes = (deps: ForwardDeps): readonly Route[] =>
  ENDPOINTS.map((endpoint) =>
    route(`POST /v1${endpoint.path}`, {}, (http, exchange) => {
      const target = deps[endpoint.provider];
      if (target === null) throw unset(endpoint);
      return forward(http, exchange, {
        target,
        gate: deps.gate,
        endpoint,
        maxBytes: deps.maxBodyBytes,
      });
    }),
  );

const unset = ({ path, example }: Endpoint) =>
  gatewayError('endpoint_not_supported', {
    message: `POST /v1${path} needs a second provider, and none is configured. On the server, set its base URL, for example ${example}. See docs/embeddings.md.`,
  });

/** The provider continues the trace of this server, if it has one. A `tracestate` belongs to its own `traceparent`. */
const headersOf = (http: Request, { distributed }: Exchange): Record<string, string> => {
  const headers = Object.fromEntries(http.headers);
  if (distributed === null) return headers;
  const { traceparent, tracestate } = distributed.context;
  const { tracestate: _, ...others } = headers;
  return { ...others, traceparent, ...(tracestate === null ? {} : { tracestate }) };
};

/** The size of a text; null: unknown before it was read, so it counts as much as it may have. */
const textBytes = (headers: Headers): number | null => {
  const length = headers.get('content-length');
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity';
  return length === null || !isPlain ? null : Number(length);
};

/** For a reverse proxy in front of this server. */
const UNBUFFERED = { 'x-accel-buffering': 'no' };

interface Forwarding {
  readonly target: ForwardTarget;
  readonly gate: ForwardDeps['gate'];
  readonly endpoint: Endpoint;
  readonly maxBytes: number;
}

const forward = async (
  http: Request,
  exchange: Exchange,
  { target, gate, endpoint, maxBytes }: Forwarding,
): Promise<Response> => {
  const { signal } = exchange;
  let isUsed = false;
  const counted = await gate.forward({
    caller: exchange.caller(),
    isText: endpoint.provider === 'embeddings',
    bytes: textBytes(http.headers) ?? maxBytes,
    signal,
  });
  exchange.atEnd(() => counted(isUsed));
  const permit = await target.line.enter(exchange.caller(), 1, signal);
  exchange.atEnd(() => permit.leave());
  const ended = Promise.withResolvers<void>();
  // The provider answers a request whose client has left, too.
  const onGone = (): void => {
    isUsed = true;
  };
  http.signal.addEventListener('abort', onGone, { once: true });
  const { status, headers, body } = await target.forwarder.forward({
    path: endpoint.path + new URL(http.url).search,
    headers: headersOf(http, exchange),
    openBody: (onChunk) => bodyStream(http, { maxBytes, onChunk }),
    signal,
    onEnd(error) {
      if (error !== null && !http.signal.aborted) exchange.note({ failure: failureOf(error) });
      ended.resolve();
    },
  });
  http.signal.removeEventListener('abort', onGone);
  isUsed = status < 400;
  if (!(body instanceof ReadableStream)) return new Response(body, { status, headers });
  const isStream = headers['content-type']?.startsWith('text/event-stream') === true;
  exchange.note({ stream: isStream });
  const response = passedOn(body, { status, headers: isStream ? { ...headers, ...UNBUFFERED } : headers });
  void ended.promise.then(exchange.hold());
  return response;
};
