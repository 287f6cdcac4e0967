import type { RequestTrace } from '../../../canonical/context/request-trace.ts';
import { NO_TRACE } from '../../../canonical/context/trace.ts';
import { sseName } from '../../../kit/text/sse-blocks.ts';
import { requestEnd, type RequestEnd, type RequestNotes } from '../../../observe/request-end.ts';
import type { RequestObserver, RequestWatch } from '../../../observe/request-observer.ts';
import type { BackgroundRuns, LostResponse } from './background-runs.ts';
import type { ResponseEvents } from './response-events.ts';
import { backgroundOf, type Api, type Frame } from '../../../turns/api.ts';
import type { BackgroundLimits } from './background-limits.ts';
import type { RunCall } from '../../../turns/run-deps.ts';
import { prepareRun } from '../../../turns/start-run.ts';
import { translateBody, type TranslatedBody } from '../../../turns/translate.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { sseResponse } from '../../../http/answer/sse-response.ts';
import { conversationNamedIn } from '../../../http/exchange/session.ts';
import { traceOf } from '../../../http/exchange/trace-context.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import { openTrace } from '../../../http/exchange/trace-request.ts';
import {
  noteTurn,
  type BackgroundRequest,
  type BackgroundServing,
  type TurnDeps,
} from '../../../http/turn/start-turn.ts';
import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import { quoted } from '../../../kit/text/display.ts';
import type { FoundResponse } from '../stored-responses.ts';
import { isRunning } from '../stored-turn.ts';

export interface StreamAsk {
  readonly query: URLSearchParams;
  /** Of the answer. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The stream of a stored response from an event on, as its first reader got it, and live while it runs. */
export const responseStream = async (
  { row, object }: FoundResponse,
  { query, headers }: StreamAsk,
  exchange: Exchange,
  { events, turns }: { readonly events: ResponseEvents; readonly turns: TurnDeps },
): Promise<Response> => {
  const after = readStartingAfter(query);
  const isFresh = turns.ambient.clock.now() - 1000 * Number(object['completed_at']) < FRESH_MS;
  const isKept = isRunning(row.status) || (await events.appear(row.id, isFresh ? APPEAR_MS : 0));
  if (!isKept) throw notStreamable(row.isBackground ? OLD : SYNCHRONOUS);
  const texts = events.read(row.owner, row.id, after + 1, exchange.signal);
  return streamEvents(texts, { headers, exchange, deps: turns });
};

const OLD = 'This response can no longer be streamed because it is more than 10 minutes old.';
const SYNCHRONOUS = 'This response cannot be streamed because it was not created with background=true.';

/** The events of a stream with a client are written when it has ended: on another instance they appear a little later. */
const FRESH_MS = 5_000;
const APPEAR_MS = 1_000;

const notStreamable = (message: string): GatewayError =>
  gatewayError('not_streamable', { param: 'stream', code: 'invalid_request_error', message });

/** -1: from the beginning. */
const readStartingAfter = (query: URLSearchParams): number => {
  const value = query.get('starting_after');
  if (value === null) return -1;
  if (/^\d{1,15}$/.test(value)) return Number(value);
  throw gatewayError('invalid_type', {
    param: 'starting_after',
    message: `Invalid type for 'starting_after': expected the sequence number of an event, but got '${quoted(value)}' instead.`,
  });
};

/** What background responses need besides the dependencies of turns. */
export interface BackgroundParts {
  readonly runs: BackgroundRuns;
  readonly limits: BackgroundLimits;
  readonly events: ResponseEvents;
  readonly turns: TurnDeps;
  readonly observer: RequestObserver;
  readonly onEnded: (end: RequestEnd) => void;
}

const NEVER = new AbortController().signal;

/** Starts a response that runs without its client, and answers at once, with the response or with its stream. */
export const serveBackground = async (
  request: BackgroundRequest,
  { api, source, keepTrace }: BackgroundServing,
  parts: BackgroundParts,
): Promise<Response> => {
  const { parsed, background } = request;
  const { headers: asked, exchange, trace } = source;
  const { events, turns } = parts;
  noteTurn(parsed, source, turns);
  const caller = exchange.caller();
  const started = await startBackground(request, {
    api,
    call: {
      requestId: exchange.requestId,
      startedAt: exchange.startedAt,
      caller,
      session: conversationNamedIn(asked),
      traceContext: exchange.distributed?.context ?? traceOf(asked),
      trace,
    },
    firstEvent: 0,
    client: exchange.signal,
    signal: NEVER,
    parts,
  });
  keepTrace(started.ended);
  const headers = { ...ignoredHeader(started.ignored), ...parsed.dialect?.headers };
  if (parsed.stream) {
    trace.record('answered', { status: 200, head: headers });
    const texts = events.read(caller, background.id, 0, exchange.signal);
    return streamEvents(texts, { headers, exchange, deps: turns });
  }
  trace.record('answered', { status: 200, head: headers, body: background.queued });
  return jsonResponse(background.queued, headers, exchange.signal);
};

interface BackgroundStart {
  readonly api: Api;
  readonly call: Omit<RunCall, 'held' | 'state' | 'signal' | 'note' | 'onAccepted'> & {
    readonly trace: RequestTrace;
  };
  /** The number of its first event; above 0: it runs again. */
  readonly firstEvent: number;
  /** Aborted: no one waits for its acceptance. */
  readonly client: AbortSignal;
  /** Aborted: it must not run. */
  readonly signal: AbortSignal;
  readonly parts: BackgroundParts;
}

/** Rejects if nothing runs. */
const startBackground = async (
  { parsed, state, held, background, stored }: BackgroundRequest,
  { api, call, firstEvent, client, signal, parts }: BackgroundStart,
): Promise<{ readonly ignored: readonly string[]; readonly ended: Promise<void> }> => {
  const { runs, limits, turns, observer, onEnded } = parts;
  const { caller, requestId, startedAt } = call;
  const isAgain = firstEvent > 0;
  let notes: RequestNotes = {
    keyId: caller,
    model: parsed.model,
    stream: parsed.stream,
    client: parsed.client,
    answerId: background.id,
  };
  let watch: RequestWatch | null = null;
  let leave: () => void;
  try {
    leave = await limits.enter(caller, held.bytes, client);
  } catch (error) {
    held.letGo();
    state.release();
    throw error;
  }
  // It was accepted: it is not dropped in favour of others.
  held.settle();
  const run = runs.open({ owner: caller, response: background, isStream: parsed.stream, firstEvent });
  try {
    const prepared = await prepareRun(
      api,
      parsed,
      {
        ...call,
        held,
        state: run.stateOf(state),
        signal: null,
        note: (more) => {
          notes = { ...notes, ...more };
          watch?.note?.(more);
        },
        onAccepted: () => run.accepted(),
      },
      turns.runs,
    );
    if (signal.aborted) {
      prepared.giveUp();
      throw signal.reason;
    }
    if (!isAgain) {
      await runs.add(run, stored).catch((error: unknown) => {
        prepared.giveUp();
        throw error;
      });
    }
    const request = {
      requestId,
      method: 'POST',
      route: api.path,
      startedAt,
      backgroundId: background.id,
      traceContext: call.traceContext,
    };
    watch = observer.open(request);
    watch?.note?.(notes);
    const ended = runs.execute(run, prepared.detach()).finally(() => {
      leave();
      const durationMs = turns.ambient.clock.now() - startedAt;
      const end = requestEnd(request, { status: 200, ...notes, spans: call.trace.finish() }, durationMs);
      onEnded(end);
      watch?.end?.(end);
    });
    return { ignored: prepared.ignored, ended };
  } catch (error) {
    run.discard();
    leave();
    throw error;
  }
};

/** Runs a response again whose server has stopped, until it has ended. Rejects if it cannot. */
export const rerunBackground = async (
  api: Api,
  { row, request, firstEvent, signal }: LostResponse,
  parts: BackgroundParts,
): Promise<void> => {
  const { turns } = parts;
  const headers = new Headers(request.headers);
  const startedAt = turns.ambient.clock.now();
  const trace = openTrace({ startedAt, distributed: null }, NO_TRACE, turns);
  const held = turns.bodies.open(row.owner, signal, () => {});
  const translate = async (): Promise<TranslatedBody> => {
    held.grow(row.body.length);
    const source = {
      headers,
      caller: row.owner,
      models: await turns.models.names(),
      signal,
      trace,
      onBytes: (bytes: number) => held.grow(bytes),
      local: null,
      again: { id: row.id, createdAt: Math.floor(row.createdAt / 1000) },
    };
    return translateBody(api, request.body, source, turns);
  };
  const translated = await translate().catch((error: unknown) => {
    held.letGo();
    throw error;
  });
  const background = backgroundOf(translated.parsed);
  if (background === null) throw new Error('the stored request is not one of a background response');
  const call = {
    requestId: turns.ambient.ids.mint('req'),
    startedAt,
    caller: row.owner,
    session: conversationNamedIn(headers),
    traceContext: traceOf(headers),
    trace,
  };
  const again = { ...translated, background, held, stored: null };
  const { ended } = await startBackground(again, { api, call, firstEvent, client: signal, signal, parts });
  await ended;
};

type StreamingDeps = Pick<TurnDeps, 'keepaliveMs' | 'frameTally' | 'onBug'>;

interface EventReader {
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  readonly deps: StreamingDeps;
}

/** Shows the events of a response to one reader. Its run goes on if the reader leaves. */
const streamEvents = (texts: AsyncIterable<string>, { headers, exchange, deps }: EventReader): Response => {
  const tally = deps.frameTally();
  exchange.atEnd(() => tally.ended());
  return sseResponse(framesOf(texts), {
    keepaliveMs: deps.keepaliveMs,
    headers,
    onFrame: (frame) => tally.sent(frame),
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug: (error) => deps.onBug(error, exchange),
    endOfBroken: null,
  });
};

async function* framesOf(texts: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const text of texts) yield { event: sseName(text), data: null, text };
}
