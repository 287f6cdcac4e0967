import { fail, GatewayError } from '../canonical/failure.ts';
import { fold } from '../canonical/reply.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { Engine } from '../engine/engine.ts';
import { limitOutput } from '../engine/limit-output.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Tokenizer } from '../engine/tokenizer.ts';
import type { Ambient } from '../kit/ambient.ts';
import { tap, type TurnObserver } from '../observe/observer.ts';
import { resolveAttachments } from './attachments.ts';
import { checkFormat } from './check-format.ts';
import { pastCommitPoint } from './commit-point.ts';
import type { Endpoint, TurnAsk } from './endpoint.ts';
import type { Exchange } from './exchange.ts';
import type { FetchImage } from './fetch-image.ts';
import { readJson } from './guards/read-json.ts';
import { ignoredHeader } from './ignored-header.ts';
import { sseResponse } from './sse-response.ts';

export interface TurnDeps {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly ambient: Ambient;
  readonly fetchImage: FetchImage;
  readonly loadTokenizer: () => Promise<Tokenizer>;
  readonly observersOf: (ask: TurnAsk, exchange: Exchange) => readonly TurnObserver[];
  readonly onObserverError: (error: unknown) => void;
  readonly onFormatMismatch: (exchange: Exchange) => void;
  readonly maxBodyBytes: number;
  readonly keepaliveMs: number;
  readonly strictParams: boolean;
}

/** The one path: every API, streaming or not, is served by these lines. */
export const serveTurn =
  (endpoint: Endpoint, deps: TurnDeps) =>
  async (http: Request, exchange: Exchange): Promise<Response> => {
    const { signal } = exchange;
    const body = await readJson(http, { maxBytes: deps.maxBodyBytes });
    const models = await deps.models.names(signal);
    const ask = endpoint.read(body, { ...exchange, headers: http.headers, ambient: deps.ambient, models });
    exchange.note({ model: ask.model, stream: ask.stream });
    if (deps.strictParams) refuseIgnored(ask.ignored);
    const observers = [...deps.observersOf(ask, exchange), ...formatObserver(ask, deps, exchange)];
    const request = await resolveAttachments(ask.request, deps.fetchImage, { signal, places: ask.places });
    const events = tap(await runTurn(request, deps, signal), observers, {
      clock: deps.ambient.clock,
      startedAt: exchange.startedAt,
      onObserverError: deps.onObserverError,
      signal,
    });
    const headers = ignoredHeader(ask.ignored);
    if (!ask.stream) {
      const reply = await fold(ask.arrange(events));
      if (reply.outcome.kind === 'failed') throw new GatewayError(reply.outcome.failure);
      return Response.json(ask.project(reply), { headers });
    }
    const live = await pastCommitPoint(events, deps.keepaliveMs);
    return sseResponse(ask.render(ask.arrange(live)), {
      keepaliveMs: deps.keepaliveMs,
      headers,
      onGone: () => exchange.abort(),
      onEnd: exchange.hold(),
    });
  };

/** The engine, and what the backend cannot do and we do instead. */
const runTurn = async (
  request: TurnRequest,
  deps: TurnDeps,
  signal: AbortSignal,
): Promise<AsyncIterable<TurnEvent>> => {
  const events = deps.engine.run(request, signal);
  if (request.maxOutputTokens === null) return events;
  return limitOutput(events, request.maxOutputTokens, await deps.loadTokenizer());
};

const refuseIgnored = (ignored: readonly string[]): void => {
  const param = ignored[0];
  if (param === undefined) return;
  throw fail('unsupported_parameter', {
    param,
    message: `Unsupported parameter: '${param}' has no effect here, and strict parameters are on.`,
  });
};

/** Nothing is done about an answer that breaks its format except that it does not go unseen. */
const formatObserver = (ask: TurnAsk, deps: TurnDeps, exchange: Exchange): readonly TurnObserver[] => {
  const keepsFormat = checkFormat(ask.request.format, ask.formatPlace);
  if (keepsFormat === null) return [];
  let text = '';
  return [
    {
      onEvent(event) {
        // Commentary is not the answer.
        if (event.type === 'message-ended' && event.phase !== 'commentary') text += event.text;
        if (event.type !== 'turn-ended' || event.outcome.kind !== 'completed') return;
        if (!keepsFormat(text)) deps.onFormatMismatch(exchange);
      },
    },
  ];
};
