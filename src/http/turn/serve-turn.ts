import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { fold } from '../../canonical/events/accumulate.ts';
import type { ModelBudget } from '../../canonical/context/model-budget.ts';
import { rejectionsFor } from '../../canonical/failure/rejection.ts';
import type { Trace } from '../../canonical/context/trace.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Admission } from '../../turns/admission.ts';
import { runChoices } from '../../turns/choices.ts';
import type { Engine, Plan } from '../../engine/engine.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import type { RepairRules } from '../../engine/steps/repair-calls.ts';
import type { TokenCounter } from '../../engine/tokenizer.ts';
import { unlessAborted, untilAborted } from '../../kit/async/abort.ts';
import type { Ambient } from '../../kit/ambient.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { mapAll, type OneOrMore } from '../../kit/collections/one-or-more.ts';
import type { FrameTally } from '../../observe/frame-metrics.ts';
import { tap, type TurnObserver } from '../../observe/observer.ts';
import { COUNTED } from '../../openai/shared/sse.ts';
import { resolveAttachments } from '../../turns/attachments/attachments.ts';
import type { BodyBudget, HeldBytes } from '../../turns/body-budget.ts';
import type { FormatChecks } from '../../turns/format/check-format.ts';
import { endOfBrokenStream } from '../answer/broken-stream.ts';
import { allPastCommitPoint } from '../../turns/commit-point.ts';
import { formatObserver } from '../../turns/format/format-observer.ts';
import { inWordsOfCodex } from '../../turns/failures-for-codex.ts';
import { conversationKey } from '../../turns/conversation-key.ts';
import { requestsOf, type Api, type ParsedRequest } from '../../turns/api.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { FetchImage } from '../../turns/attachments/fetch-image.ts';
import { counterOf, referredCounter, type ReadLimits } from '../body/read-bytes.ts';
import { readJson } from '../body/read-json.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { planAnswer } from './plan-answer.ts';
import { isForm, readForm } from '../body/read-form.ts';
import { loadItems, rememberItems, type RecentItems } from '../../turns/recent-items.ts';
import { summaryOf } from '../exchange/request-summary.ts';
import type { RunningResponses } from '../../turns/running-responses.ts';
import { namedSessionOf, sessionOf } from '../exchange/session.ts';
import { servedModelHeader } from '../answer/served-model-header.ts';
import type { SideTurns } from './side-turns.ts';
import { sseResponse } from '../answer/sse-response.ts';
import { recordBody, withTrace, type Captures } from '../exchange/trace-request.ts';
import { traceOf } from '../exchange/trace-context.ts';
import { namesWithoutEffect, refusalOf } from '../../turns/without-effect.ts';

export interface TurnDeps {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly running: RunningResponses;
  readonly items: Pick<RecentItems, 'of'>;
  readonly bodies: BodyBudget;
  readonly models: ModelDirectory;
  readonly ambient: Ambient;
  readonly tokens: TokenCounter;
  readonly fetchImage: FetchImage;
  /** Whether images by URL are left to a backend that fetches them itself. */
  readonly passesImageUrls: boolean;
  /** Called for every parsed request. */
  readonly onParsed: (parsed: ParsedRequest) => void;
  readonly observersOf: (ask: ParsedRequest, exchange: Exchange) => readonly TurnObserver[];
  readonly onObserverError: (error: unknown) => void;
  /** For one stream: counts what is sent. */
  readonly frameTally: () => FrameTally;
  /** These parameters of a request had no effect. */
  readonly onIgnored: (names: readonly string[]) => void;
  /** Who writes down whole requests; null: nobody. */
  readonly captures: Captures | null;
  /** Something threw that should not have; the client sees only that the turn failed. */
  readonly onBug: (error: unknown, exchange: Exchange) => void;
  readonly formats: Pick<FormatChecks, 'of' | 'problemWith'>;
  readonly onFormatMismatch: (exchange: Exchange) => void;
  readonly repair: Omit<RepairRules, 'check'>;
  /** The model requests that one answer may cost. */
  readonly openBudget: (exchange: Exchange, trace: Trace) => ModelBudget;
  readonly sideTurns: SideTurns;
  readonly maxBodyBytes: number;
  readonly keepaliveMs: number;
  readonly strictParams: boolean;
}

/** Requests beyond this are few, and their copies cost more than a moment's wait. */
const LARGE_BYTES = 1024 * 1024;

const COUNTED_HEADER = { [COUNTED.header]: COUNTED.value };

/** The one path: every API, streaming or not, is served by these lines. */
export const serveTurn = (api: Api, deps: TurnDeps) =>
  withTrace(deps, async (http, exchange, trace) => {
    const { signal } = exchange;
    const caller = exchange.caller();
    exchange.note({ named: namedSessionOf(http.headers) });
    const held = deps.bodies.open(caller, signal, (error) => exchange.abort(error));
    exchange.atEnd(() => held.letGo());
    const ask = await readAsk(api, http, { exchange, held, deps, trace });
    const summary = summaryOf(requestsOf(ask), held.bytes);
    exchange.note({ model: ask.model, stream: ask.stream, client: ask.client, request: summary });
    deps.onParsed(ask);
    // Reading a long conversation takes a while, and so does starting its turn.
    await yieldToLoop(signal);
    const traceContext = traceOf(http.headers);
    const running = ask.stream && ask.id !== undefined ? deps.running.open(ask.id, caller) : null;
    exchange.atEnd(() => running?.end());
    const asked = mapAll(requestsOf(ask), (one): Turn => ({
      request: deps.strictParams ? { ...one, isStrict: true } : one,
      context: {
        caller: { keyId: caller },
        conversation: conversationKey(one, { caller, session: sessionOf(http.headers) }),
        budget: deps.openBudget(exchange, trace),
        trace,
        ...(running === null ? {} : { onSteerable: (steer) => running.onSteerable(steer) }),
        ...(traceContext === null ? {} : { traceContext }),
      },
    }));
    const resolve = async (request: TurnRequest, { takesImageUrls }: Plan): Promise<TurnRequest> => {
      const resolved = await resolveAttachments(request, counted(deps.fetchImage, held, trace), {
        signal,
        nameOf: (path) => ask.nameOf(path),
        passesUrls: () => deps.passesImageUrls && takesImageUrls === true,
      });
      await yieldToLoop(signal);
      return resolved;
    };
    const planned = await Promise.all(
      mapAll(asked, (turn) => planAnswer(turn, { ask, exchange, deps, resolve })),
    );
    const rejections = planned.flatMap(({ plan }) => plan.refused);
    const refused = refusalOf(ask, rejections, deps.strictParams);
    if (refused !== null) throw refused;
    const keepsFormat = await unlessAborted(
      deps.formats.of(ask.request.format, ask.formatPlace, caller),
      signal,
    );
    const observers = deps.observersOf(ask, exchange);
    // Nothing is committed while a turn waits here: a refusal is a status, and until then there is silence.
    const places = await deps.admission.enter({
      caller,
      turns: asked.length * ask.choices,
      param: asked.length > 1 ? ask.nameOf('items') : 'n',
      signal,
    });
    exchange.atEnd(() => places.forEach((place) => place.leave()));
    held.settle();
    const plans = await Promise.all(mapAll(planned, (answer) => answer.prepare()));
    const stop = new AbortController();
    const events = mapAll(
      runChoices(plans, places, {
        signal: AbortSignal.any([signal, stop.signal]),
        pace: held.bytes > LARGE_BYTES ? 'one-by-one' : 'at-once',
      }),
      (turn) =>
        tap(turn, [...observers, ...formatObserver(keepsFormat, () => deps.onFormatMismatch(exchange))], {
          clock: deps.ambient.clock,
          startedAt: exchange.startedAt,
          onObserverError: deps.onObserverError,
          signal,
        }),
    );
    const committed = await allPastCommitPoint(events, {
      idleMs: ask.stream ? deps.keepaliveMs : null,
      clock: deps.ambient.clock,
      stop: () => stop.abort(),
      onBug(error) {
        if (!signal.aborted) deps.onBug(error, exchange);
      },
    }).catch(inWordsOfCodex(ask, deps.ambient.clock));
    const { accepted } = committed[0];
    // A turn that has not said anything yet: what was known before it ran.
    const { ignored } = accepted ?? plans[0];
    const lateRefusal = refusalOf(ask, rejectionsFor(asked[0].request, ignored), deps.strictParams);
    if (lateRefusal !== null) {
      await Promise.all(committed.map((turn) => turn.giveUp()));
      throw lateRefusal;
    }
    const unheeded = namesWithoutEffect(ask, ignored);
    deps.onIgnored(unheeded);
    const headers = {
      ...accepted?.headers,
      ...ignoredHeader(unheeded),
      ...(ask.request.maxOutputTokens === 0 ? COUNTED_HEADER : {}),
      ...servedModelHeader(accepted?.servedModel),
      ...ask.dialect?.headers,
    };
    const items = ask.keepsItems === true ? deps.items.of(caller, () => {}) : null;
    const turns = mapAll(committed, (turn) => rememberItems(ask.arrange(turn.events), items));
    return answer(api, ask, turns, { headers, exchange, trace, deps });
  });

interface Answering {
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  readonly trace: Trace;
  readonly deps: TurnDeps;
}

/** A stream of what happens, or all of it at once. */
const answer = async (
  api: Api,
  ask: ParsedRequest,
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  { headers, exchange, trace, deps }: Answering,
): Promise<Response> => {
  if (ask.stream) {
    trace.record('answered', { status: 200, head: headers });
    const tally = deps.frameTally();
    exchange.atEnd(() => tally.ended());
    return sseResponse(api.render(ask.meta, turns), {
      keepaliveMs: deps.keepaliveMs,
      headers,
      onFrame(frame) {
        tally.sent(frame);
        trace.record('frame', frame);
      },
      onGone: () => exchange.abort(),
      onEnd: exchange.hold(),
      onBug(error) {
        exchange.note({ errorCode: failure('server_error').code });
        deps.onBug(error, exchange);
      },
      endOfBroken: () => endOfBrokenStream(api, ask.meta, turns, deps.ambient.clock),
    });
  }
  const replies = await Promise.all(mapAll(turns, (turn) => fold(untilAborted(turn, exchange.signal))));
  for (const { outcome } of replies) {
    if (outcome.kind === 'failed') throw new GatewayError(outcome.failure);
  }
  const body = api.project(ask.meta, replies, deps.ambient.ids);
  const isCounted = replies.some(({ usage }) => usage?.isCounted === true);
  const head = isCounted ? { ...headers, ...COUNTED_HEADER } : headers;
  trace.record('answered', { status: 200, head, body });
  return jsonResponse(body, head, exchange.signal);
};

interface Reading {
  readonly exchange: Exchange;
  readonly held: HeldBytes;
  readonly deps: TurnDeps;
  readonly trace: Trace;
}

/** A function of its own, so that nothing of the body outlives its reading but what was read. */
const readAsk = async (
  api: Api,
  http: Request,
  { exchange, held, deps, trace }: Reading,
): Promise<ParsedRequest> => {
  const { signal } = exchange;
  const limits = { maxBytes: deps.maxBodyBytes, room: held, signal };
  const body = await unlessAborted(readGiven(api, http, limits), signal);
  const models = await unlessAborted(deps.models.names(), signal);
  if (trace.isRecording) recordBody(trace, body, models);
  const countReferred = referredCounter(limits);
  const items = deps.items.of(exchange.caller(), (item, bytes) => {
    countReferred(bytes);
    trace.record('referred', { item });
  });
  const context = { headers: http.headers, ambient: deps.ambient, models };
  const parsed = api.parse(body, context);
  return api.toTurn(parsed, loadItems(parsed.references ?? [], items), context);
};

const readGiven = async ({ bodyOf, spellOut }: Api, http: Request, limits: ReadLimits): Promise<unknown> => {
  if (bodyOf !== undefined && isForm(http)) return bodyOf(await readForm(http, limits));
  const body = await readJson(http, limits);
  if (spellOut === undefined) return body;
  return spellOut(body, { onBytes: counterOf(limits), caller: limits.room?.caller ?? '' });
};

/** What is fetched for a request is held as long as its body. */
const counted =
  (fetchImage: FetchImage, held: HeldBytes, trace: Trace): FetchImage =>
  async (url, param, signal) => {
    const image = await fetchImage(url, param, signal);
    trace.record('fetched', { url, image });
    held.grow(image.length);
    return image;
  };
