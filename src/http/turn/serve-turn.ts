import type { Trace } from '../../canonical/context/trace.ts';
import { failure, GatewayError } from '../../canonical/failure/failure.ts';
import { UNSTORED } from '../../apis/sse.ts';
import { backgroundOf, type Api, type ParsedRequest } from '../../turns/api.ts';
import type { Run } from '../../turns/run.ts';
import { endOfBrokenStream, sseResponse } from '../answer/sse-response.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { counterOf, type ReadLimits } from '../body/read-bytes.ts';
import { isForm, readForm } from '../body/read-form.ts';
import { readJson } from '../body/read-json.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { traced } from '../exchange/trace-request.ts';
import {
  answerHeaders,
  COUNTED_HEADER,
  prepareTurn,
  readTurn,
  type StreamCopy,
  type TurnDeps,
  type TurnOrigin,
} from './start-turn.ts';

const UNSTORED_HEADER = { [UNSTORED.header]: UNSTORED.value };

/** Reads a request, starts its run, and shows the run to the client as a stream or as JSON. */
export const serveTurn =
  (api: Api, deps: TurnDeps) =>
  (http: Request, exchange: Exchange): Promise<Response> => {
    const { method, headers } = http;
    const { pathname } = new URL(http.url);
    return traced({ exchange, method, path: pathname, headers }, api, deps, async (trace, keepTrace) => {
      const held = deps.bodies.open(exchange.caller(), exchange.signal, (error) => exchange.abort(error));
      const source: TurnOrigin = { headers, exchange, trace, transport: 'http', local: null, held };
      const read = await readTurn(api, (limits) => readBody(api, http, limits, deps), source, deps);
      const background = backgroundOf(read.parsed);
      if (background !== null && deps.background !== null) {
        return deps.background.serve({ ...read, background, held }, { api, source, keepTrace });
      }
      const run = await (await prepareTurn(api, read, source, deps)).start();
      const showing = { headers: answerHeaders(read.parsed, run), exchange, trace, deps };
      if (!read.parsed.stream) return whole(api, run, showing);
      return streamed(api, run, { ...showing, copy: copyOf(read.parsed, exchange.caller(), deps) });
    });
  };

interface AnswerTarget {
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  readonly trace: Trace;
  readonly deps: TurnDeps;
}

/** The stream of a stored response can be sent again for a while. Null: this one cannot. */
const copyOf = ({ keeps }: ParsedRequest, caller: string, { background }: TurnDeps): StreamCopy | null =>
  keeps?.kind === 'response' && keeps.isStored ? (background?.copyStream(caller, keeps.id) ?? null) : null;

/** Reads a run as server-sent events. */
const streamed = (
  api: Api,
  run: Run,
  { headers, exchange, trace, deps, copy }: AnswerTarget & { readonly copy: StreamCopy | null },
): Response => {
  trace.record('answered', { status: 200, head: headers });
  const tally = deps.frameTally();
  exchange.atEnd(() => {
    tally.ended();
    copy?.end();
  });
  return sseResponse(run.events(), {
    keepaliveMs: deps.keepaliveMs,
    keepalive: api.keepalive,
    headers,
    onFrame(frame) {
      tally.sent(frame);
      if (trace.isRecording) trace.record('frame', frame);
    },
    ...(copy === null ? {} : { onText: (text: string) => copy.add(text) }),
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug(error) {
      exchange.note({ failure: failure('server_error') });
      deps.onBug(error, exchange);
    },
    endOfBroken: () => endOfBrokenStream(api, run, deps.ambient.clock),
  });
};

/** Reads a run as one JSON body. */
const whole = async (
  api: Api,
  run: Run,
  { headers, exchange, trace, deps }: AnswerTarget,
): Promise<Response> => {
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

const readBody = async (
  { bodyOf, spellOut }: Api,
  http: Request,
  limits: ReadLimits,
  { readChanges }: TurnDeps,
): Promise<unknown> => {
  if (bodyOf !== undefined && isForm(http)) return bodyOf(await readForm(http, limits));
  const body = await readJson(http, limits);
  if (spellOut === undefined) return body;
  const caller = limits.room?.caller ?? '';
  return spellOut(body, {
    onBytes: counterOf(limits),
    caller,
    readChanges: (changes) => readChanges(caller, changes, limits.signal ?? new AbortController().signal),
  });
};
