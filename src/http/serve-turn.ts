import { fail, GatewayError } from '../canonical/failure.ts';
import { fold } from '../canonical/reply.ts';
import type { Engine } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
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
import { sessionOf } from './session.ts';
import { sseResponse } from './sse-response.ts';

export interface TurnDeps {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly ambient: Ambient;
  readonly fetchImage: FetchImage;
  readonly observersOf: (ask: TurnAsk, exchange: Exchange) => readonly TurnObserver[];
  readonly onObserverError: (error: unknown) => void;
  /** Something threw that should not have; the client sees only that the turn failed. */
  readonly onBug: (error: unknown, exchange: Exchange) => void;
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
    const ask = endpoint.read(body, {
      ...exchange,
      headers: http.headers,
      ambient: deps.ambient,
      models,
      affinity: { caller: exchange.caller(), session: sessionOf(http.headers) },
    });
    exchange.note({ model: ask.model, stream: ask.stream });
    if (deps.strictParams) refuseIgnored(ask.ignored);
    const observers = [...deps.observersOf(ask, exchange), ...formatObserver(ask, deps, exchange)];
    const request = await resolveAttachments(ask.request, deps.fetchImage, { signal, places: ask.places });
    const events = tap(deps.engine.run(request, signal), observers, {
      clock: deps.ambient.clock,
      startedAt: exchange.startedAt,
      onObserverError: deps.onObserverError,
      signal,
    });
    const committed = await pastCommitPoint(events, ask.stream ? deps.keepaliveMs : null, (error) => {
      if (!signal.aborted) deps.onBug(error, exchange);
    });
    const ignored = [...ask.ignored, ...(committed.accepted?.ignored ?? [])];
    if (deps.strictParams && ignored.length > 0) {
      await committed.giveUp();
      refuseIgnored(ignored);
    }
    const headers = { ...committed.accepted?.headers, ...ignoredHeader(ignored) };
    if (ask.stream) {
      return sseResponse(ask.render(ask.arrange(committed.events)), {
        keepaliveMs: deps.keepaliveMs,
        headers,
        onGone: () => exchange.abort(),
        onEnd: exchange.hold(),
      });
    }
    const reply = await fold(ask.arrange(committed.events));
    if (reply.outcome.kind === 'failed') throw new GatewayError(reply.outcome.failure);
    return Response.json(ask.project(reply), { headers });
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
