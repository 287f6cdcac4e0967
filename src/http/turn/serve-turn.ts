import type { Trace } from '../../canonical/context/trace.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import { unlessAborted } from '../../kit/async/abort.ts';
import type { FrameTally } from '../../observe/frame-metrics.ts';
import { COUNTED, UNSTORED } from '../../openai/shared/sse.ts';
import { requestsOf, type Api, type ParsedRequest } from '../../turns/api.ts';
import type { BodyBudget, HeldBytes } from '../../turns/body-budget.ts';
import type { Run } from '../../turns/run.ts';
import { startRun, type RunDeps } from '../../turns/start-run.ts';
import { translateBody, type TranslateDeps, type Translated } from '../../turns/translate.ts';
import { endOfBrokenStream } from '../answer/broken-stream.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { servedModelHeader } from '../answer/served-model-header.ts';
import { sseResponse } from '../answer/sse-response.ts';
import { counterOf, referredCounter, type ReadLimits } from '../body/read-bytes.ts';
import { isForm, readForm } from '../body/read-form.ts';
import { readJson } from '../body/read-json.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { summaryOf } from '../exchange/request-summary.ts';
import { namedSessionOf, sessionOf } from '../exchange/session.ts';
import { traceOf } from '../exchange/trace-context.ts';
import { recordBody, withTrace, type Captures } from '../exchange/trace-request.ts';

export interface TurnDeps extends RunDeps, TranslateDeps {
  readonly bodies: BodyBudget;
  readonly models: ModelDirectory;
  /** Called for every parsed request. */
  readonly onParsed: (parsed: ParsedRequest) => void;
  /** For one stream: counts what is sent. */
  readonly frameTally: () => FrameTally;
  /** Where whole requests are captured; null: nowhere. */
  readonly captures: Captures | null;
  readonly maxBodyBytes: number;
}

const COUNTED_HEADER = { [COUNTED.header]: COUNTED.value };
const UNSTORED_HEADER = { [UNSTORED.header]: UNSTORED.value };

/** Reads a request, starts its run, and shows the run to the client as a stream or as JSON. */
export const serveTurn = (api: Api, deps: TurnDeps) =>
  withTrace(deps, api, async (http, exchange, trace) => {
    exchange.note({ named: namedSessionOf(http.headers) });
    const { parsed, state, held } = await readRequest(api, http, { exchange, deps, trace });
    const request = summaryOf(requestsOf(parsed), held.bytes);
    exchange.note({ model: parsed.model, stream: parsed.stream, client: parsed.client, request });
    deps.onParsed(parsed);
    const run = await startRun(
      api,
      parsed,
      {
        requestId: exchange.requestId,
        startedAt: exchange.startedAt,
        caller: exchange.caller(),
        session: sessionOf(http.headers),
        traceContext: traceOf(http.headers),
        trace,
        held,
        state,
        // A client that leaves ends its run.
        signal: exchange.signal,
        note: (facts) => exchange.note(facts),
        keep: null,
      },
      deps,
    );
    const headers = {
      ...run.head.headers,
      ...ignoredHeader(run.head.ignored),
      ...(parsed.request.maxOutputTokens === 0 ? COUNTED_HEADER : {}),
      ...servedModelHeader(run.head.servedModel),
      ...parsed.dialect?.headers,
    };
    const showing = { headers, exchange, trace, deps };
    return parsed.stream ? streamed(api, run, showing) : whole(api, run, showing);
  });

interface Showing {
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  readonly trace: Trace;
  readonly deps: TurnDeps;
}

/** Reads a run as server-sent events. */
const streamed = (api: Api, run: Run, { headers, exchange, trace, deps }: Showing): Response => {
  trace.record('answered', { status: 200, head: headers });
  const tally = deps.frameTally();
  exchange.atEnd(() => tally.ended());
  return sseResponse(run.events(), {
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
    endOfBroken: () => endOfBrokenStream(api, run, deps.ambient.clock),
  });
};

/** Reads a run as one JSON body. */
const whole = async (api: Api, run: Run, { headers, exchange, trace, deps }: Showing): Promise<Response> => {
  const replies = await run.reply();
  for (const { outcome } of replies) {
    if (outcome.kind === 'failed') throw new GatewayError(outcome.failure);
  }
  const body = api.project(run.meta, replies, deps.ambient.ids);
  const isCounted = replies.some(({ usage }) => usage?.isCounted === true);
  const isUnstored = replies.some((reply) => reply.isUnstored === true);
  const head = {
    ...headers,
    ...(isCounted ? COUNTED_HEADER : {}),
    ...(isUnstored ? UNSTORED_HEADER : {}),
  };
  trace.record('answered', { status: 200, head, body });
  return jsonResponse(body, head, exchange.signal);
};

interface Reading {
  readonly exchange: Exchange;
  readonly deps: TurnDeps;
  readonly trace: Trace;
}

interface ReadRequest extends Translated {
  /** The bytes of the body, which the run takes over. */
  readonly held: HeldBytes;
}

/** A function of its own, so that nothing of the body outlives its reading but what was read. */
const readRequest = async (
  api: Api,
  http: Request,
  { exchange, deps, trace }: Reading,
): Promise<ReadRequest> => {
  const { signal } = exchange;
  const held = deps.bodies.open(exchange.caller(), signal, (error) => exchange.abort(error));
  try {
    const limits = { maxBytes: deps.maxBodyBytes, room: held, signal };
    const body = await unlessAborted(readBody(api, http, limits), signal);
    const models = await unlessAborted(deps.models.names(), signal);
    if (trace.isRecording) recordBody(trace, body, models);
    const source = {
      headers: http.headers,
      caller: exchange.caller(),
      models,
      signal,
      trace,
      onBytes: referredCounter(limits),
      local: null,
    };
    return { ...(await translateBody(api, body, source, deps)), held };
  } catch (error) {
    held.letGo();
    throw error;
  }
};

const readBody = async ({ bodyOf, spellOut }: Api, http: Request, limits: ReadLimits): Promise<unknown> => {
  if (bodyOf !== undefined && isForm(http)) return bodyOf(await readForm(http, limits));
  const body = await readJson(http, limits);
  if (spellOut === undefined) return body;
  return spellOut(body, { onBytes: counterOf(limits), caller: limits.room?.caller ?? '' });
};
