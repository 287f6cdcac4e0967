import type { RequestTrace } from '../../canonical/context/request-trace.ts';
import { failureOf } from '../../canonical/failure/failure.ts';
import type { ModelDirectory } from '../../engine/model-directory.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import type { FrameTally } from '../../observe/turn-metrics.ts';
import { COUNTED } from '../../apis/sse.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import {
  backgroundOf,
  requestsOf,
  type Api,
  type BackgroundResponse,
  type ParsedRequest,
  type WorkspaceChanges,
} from '../../turns/api.ts';
import type { BodyBudget, HeldBytes } from '../../turns/body-budget.ts';
import type { Run } from '../../turns/run.ts';
import type { OnBug, RunCall, RunDeps } from '../../turns/run-deps.ts';
import { prepareRun, type PreparedRun } from '../../turns/start-run.ts';
import { translateBody, type TranslateDeps, type TranslatedBody } from '../../turns/translate.ts';
import type { LocalResponses } from '../../turns/turn-state.ts';
import { ignoredHeader, servedModelHeader } from '../answer/turn-headers.ts';
import { referredCounter, type ReadLimits } from '../body/read-bytes.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { namedSessionOf, conversationNamedIn } from '../exchange/session.ts';
import { traceOf } from '../exchange/trace-context.ts';
import { recordBody, safeHeaders, type Captures, type KeepTrace } from '../exchange/trace-request.ts';
import { itemFacts } from '../../canonical/request/item-facts.ts';
import { allTools } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { OneOrMore } from '../../kit/collections/lists.ts';
import type { RequestSummary } from '../../observe/request-end.ts';

export interface TurnDeps extends TranslateDeps {
  readonly runs: RunDeps;
  readonly bodies: BodyBudget;
  readonly models: ModelDirectory;
  /** Called for every parsed request. */
  readonly onParsed: (parsed: ParsedRequest, transport: Transport) => void;
  /** For one stream: counts what is sent. */
  readonly frameTally: () => FrameTally;
  /** Where whole requests are captured; null: nowhere. */
  readonly captures: Captures | null;
  readonly maxBodyBytes: number;
  /** How often an idle stream is kept alive. */
  readonly keepaliveMs: number;
  readonly onBug: OnBug;
  /** Null: nothing is stored, so nothing runs without a client. */
  readonly background: Background | null;
  readonly readChanges: ReadChanges;
}

/** Reads changes in a workspace that the key may use. Rejects with a `GatewayError`. */
export type ReadChanges = (keyId: string, changes: WorkspaceChanges, signal: AbortSignal) => Promise<string>;

/** The port for responses that run without their clients, and for streams that can be read again. */
export interface Background {
  /** Whether a request is stored, so that it can run again. */
  readonly keepsRequests: boolean;
  /** Starts a response that runs without its client, and answers at once. */
  serve(request: BackgroundRequest, serving: BackgroundServing): Promise<Response>;
  /** Copies the stream of a stored response while it is sent, so that it can be sent again for a while. */
  copyStream(caller: string, responseId: string): StreamCopy;
}

/** A request that was read. */
export interface BackgroundRequest extends ReadTurn {
  readonly background: BackgroundResponse;
  readonly held: HeldBytes;
}

export interface BackgroundServing {
  readonly api: Api;
  readonly source: TurnOrigin;
  readonly keepTrace: KeepTrace;
}

/** Collects the texts of a stream while it is sent. */
export interface StreamCopy {
  add(text: string): void;
  /** The last text was added, or the client has left before. */
  end(): void;
}

/** How a request reached this server. */
type Transport = 'http' | 'websocket';

/** A request for a turn, whatever it came over. */
export interface TurnOrigin {
  readonly headers: Headers;
  readonly exchange: Exchange;
  readonly trace: RequestTrace;
  readonly transport: Transport;
  /** Responses that only its connection knows; null: it came over none that remembers. */
  readonly local: LocalResponses | null;
  /** The bytes of the body, which the run takes over. */
  readonly held: HeldBytes;
  /** False: no model is asked; absent: one is. */
  readonly generates?: boolean;
  /** Asked between two items of the answer: whether it should end there; absent: it never does. */
  readonly isSteered?: RunCall['isSteered'];
}

/** A request as its client sent it. */
export interface SentRequest {
  readonly body: JsonObject;
  readonly headers: Readonly<Record<string, string>>;
  /** How many times it has been run again. */
  readonly reruns: number;
}

export interface ReadTurn extends TranslatedBody {
  /** The request itself, if it has to be stored. */
  readonly stored: SentRequest | null;
}

/** Reads a request and translates it. A function of its own, so that nothing of the body outlives its reading. */
export const readTurn = async (
  api: Api,
  readBody: (limits: ReadLimits) => Promise<unknown>,
  { headers, exchange, trace, local, held, generates = true }: TurnOrigin,
  deps: TurnDeps,
): Promise<ReadTurn> => {
  const { signal } = exchange;
  const reading = trace.begin('read');
  exchange.note({ named: namedSessionOf(headers) });
  try {
    const limits = { maxBytes: deps.maxBodyBytes, room: held, signal };
    const body = await unlessAborted(readBody(limits), signal);
    const models = await unlessAborted(deps.models.names(), signal);
    if (trace.isRecording) recordBody(trace, body, models);
    const onBytes = referredCounter(limits);
    const source = { headers, caller: exchange.caller(), models, signal, trace, onBytes, local, generates };
    const translated = await translateBody(api, body, source, deps);
    const isStored = backgroundOf(translated.parsed) !== null && deps.background?.keepsRequests === true;
    const stored = isStored && isJsonObject(body) ? { body, headers: safeHeaders(headers), reruns: 0 } : null;
    reading.end({ bytes: held.bytes });
    return { ...translated, stored };
  } catch (error) {
    reading.end({ error: failureOf(error).code });
    held.letGo();
    throw error;
  }
};

/** Tells the log and the metrics about a request. */
export const noteTurn = (
  parsed: ParsedRequest,
  { exchange, transport, held }: TurnOrigin,
  deps: TurnDeps,
): void => {
  const request = summaryOf(requestsOf(parsed), held.bytes);
  const { model, stream, client } = parsed;
  exchange.note({ model, stream, client, request, answerId: answerIdOf(parsed) });
  deps.onParsed(parsed, transport);
};

/** Null: the client cannot refer to the answer. */
const answerIdOf = ({ id, keeps }: ParsedRequest): string | null => id ?? keeps?.id ?? null;

/** Plans the run of a request: everything that can be refused before a slot is needed. */
export const prepareTurn = (
  api: Api,
  { parsed, state }: TranslatedBody,
  source: TurnOrigin,
  deps: TurnDeps,
): Promise<PreparedRun> => {
  noteTurn(parsed, source, deps);
  const { headers, exchange, trace, held, isSteered } = source;
  const call: RunCall = {
    requestId: exchange.requestId,
    startedAt: exchange.startedAt,
    caller: exchange.caller(),
    session: conversationNamedIn(headers),
    traceContext: exchange.distributed?.context ?? traceOf(headers),
    trace,
    held,
    state,
    // A client that leaves ends its run.
    signal: exchange.signal,
    note: (facts) => exchange.note(facts),
    ...(isSteered === undefined ? {} : { isSteered }),
  };
  return prepareRun(api, parsed, call, deps.runs);
};

export const COUNTED_HEADER = { [COUNTED.header]: COUNTED.value };

/** What the head of an answer says besides its status. */
export const answerHeaders = (parsed: ParsedRequest, { head }: Run): Readonly<Record<string, string>> => ({
  ...head.headers,
  ...ignoredHeader(head.ignored),
  ...(parsed.request.maxOutputTokens === 0 ? COUNTED_HEADER : {}),
  ...servedModelHeader(head.servedModel),
  ...parsed.dialect?.headers,
});

/** The size of a request, without any content. `bytes` is what the body holds in memory, compressed and not. */
export const summaryOf = (requests: OneOrMore<TurnRequest>, bytes: number): RequestSummary => {
  const tools = allTools(requests[0]);
  return {
    items: requests.reduce((sum, { items }) => sum + items.length, 0),
    tools: tools.length,
    images:
      requests.reduce((sum, { items }) => sum + itemFacts(items).images, 0) +
      tools.filter((tool) => tool.kind === 'hosted' && tool.mask !== undefined).length,
    bytes,
  };
};
