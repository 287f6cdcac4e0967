import type { Dispatcher } from 'undici';

import { failureOf, gatewayError } from '../../canonical/failure/failure.ts';
import { openDispatcher } from '../../codex/relay/transport/dispatcher.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { passedOn } from '../../http/answer/write-stream.ts';
import { bodyStream } from '../../http/body/read-bytes.ts';
import type { Exchange } from '../../http/exchange/exchange.ts';
import type { Route } from '../../http/route.ts';
import { Limiter } from '../../kit/async/limiter.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import type { FORWARDING_TABLES } from './feature.ts';
import { Forwarder } from './forwarder.ts';

/** Requests sent to a provider at once. Most providers allow fewer. */
const AT_ONCE = 64;
const MAX_WAITING = 512;

interface Endpoint {
  readonly path: string;
  /** The setting of the provider's base URL. */
  readonly setting: string;
  /** What a base URL looks like, for the error without one. */
  readonly example: string;
  /** Whether keys pay for the text of a request. */
  readonly isText: boolean;
}

const EMBEDDINGS: Endpoint = {
  path: '/embeddings',
  setting: 'PROXY_EMBEDDINGS_BASE_URL',
  example: 'http://127.0.0.1:11434/v1',
  isText: true,
};

const TRANSCRIPTIONS: Endpoint = {
  path: '/audio/transcriptions',
  setting: 'PROXY_TRANSCRIPTIONS_BASE_URL',
  example: 'https://api.openai.com/v1',
  isText: false,
};

/** Requests are forwarded unchanged to another provider, if one is configured. */
export const openForwarding = async (
  { environment, ambient, bodies, waits, onRefused }: Core,
  { settings, offers }: Own<typeof FORWARDING_TABLES>,
): Promise<OpenFeature<typeof FORWARDING_TABLES>> => {
  const dispatchers: Dispatcher[] = [];
  const routeTo = async (
    endpoint: Endpoint,
    baseUrl: string | null,
    apiKey: string | null,
  ): Promise<Route['handle']> => {
    if (baseUrl === null)
      return () => {
        throw unset(endpoint);
      };
    const dispatcher = await openDispatcher([baseUrl], environment);
    dispatchers.push(dispatcher);
    const { setting } = endpoint;
    const deps = {
      endpoint,
      forwarder: new Forwarder({ baseUrl, apiKey, setting, dispatcher, idleTimeoutMs: waits.idleMs }),
      line: new Limiter({
        capacity: AT_ONCE,
        maxWaiting: MAX_WAITING,
        waitMs: waits.queueMs,
        clock: ambient.clock,
        onChange() {},
        refuse(reason, retryAfterSeconds) {
          onRefused(reason);
          return gatewayError(reason === 'share' ? 'concurrency_limit' : 'server_overloaded', {
            retryAfterSeconds,
          });
        },
      }),
      gate: offers.gate,
      maxBytes: bodies.maxBodyBytes,
    };
    return (http, exchange) => forward(http, exchange, deps);
  };
  return {
    routes: {
      'POST /v1/embeddings': await routeTo(EMBEDDINGS, settings.embeddingsUrl, settings.embeddingsKey),
      'POST /v1/audio/transcriptions': await routeTo(
        TRANSCRIPTIONS,
        settings.transcriptionsUrl,
        settings.transcriptionsKey,
      ),
    },
    async close() {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()));
    },
  };
};

const unset = ({ path, setting, example }: Endpoint) =>
  gatewayError('endpoint_not_supported', {
    message: `POST /v1${path} needs a second provider, and none is configured. On the server, set its base URL, for example ${setting}=${example}. See docs/embeddings.md.`,
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

interface ForwardDeps {
  readonly endpoint: Endpoint;
  readonly forwarder: Forwarder;
  /** Queues requests fairly between keys. */
  readonly line: Limiter;
  /** Holds keys to their limits. */
  readonly gate: TurnGate;
  readonly maxBytes: number;
}

const forward = async (
  http: Request,
  exchange: Exchange,
  { endpoint, forwarder, line, gate, maxBytes }: ForwardDeps,
): Promise<Response> => {
  const { signal } = exchange;
  let isUsed = false;
  const counted = await gate.forward({
    caller: exchange.caller(),
    isText: endpoint.isText,
    bytes: textBytes(http.headers) ?? maxBytes,
    signal,
  });
  exchange.atEnd(() => counted(isUsed));
  const permit = await line.enter(exchange.caller(), 1, signal);
  exchange.atEnd(() => permit.leave());
  const ended = Promise.withResolvers<void>();
  // The provider answers a request whose client has left, too.
  const onGone = (): void => {
    isUsed = true;
  };
  http.signal.addEventListener('abort', onGone, { once: true });
  const { status, headers, body } = await forwarder.forward({
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
