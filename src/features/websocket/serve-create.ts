import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { RequestTrace } from '../../canonical/context/request-trace.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { CLIENT_GONE } from '../../observe/request-end.ts';
import type { Api, Frame } from '../../turns/api.ts';
import type { HeldBytes } from '../../turns/body-budget.ts';
import type { Run } from '../../turns/run.ts';
import { endOfBrokenStream } from '../../http/answer/sse-response.ts';
import type { OpenExchange } from '../../http/exchange/exchange.ts';
import type { Exchanges } from '../../http/exchange/exchanges.ts';
import { traced } from '../../http/exchange/trace-request.ts';
import {
  answerHeaders,
  prepareTurn,
  readTurn,
  type TurnDeps,
  type TurnOrigin,
} from '../../http/turn/start-turn.ts';
import type { ConnectionMemory } from './connection-memory.ts';
import { errorEvent } from './events.ts';
import { ResponseStream, type SocketWriter } from './messages.ts';
import type { Steering, SteerTarget } from './steering.ts';

/** What a connection gives to each of its responses. */
export interface ServedBy {
  /** Of the upgrade. */
  readonly headers: Headers;
  readonly writer: SocketWriter;
  readonly memory: ConnectionMemory;
  readonly steering: Steering;
  /** Aborted when the connection is closed. */
  readonly signal: AbortSignal;
  /** Rejects if the key of the connection may not be used any more. */
  checkKey(): Promise<void>;
  /** Opens what a response of this size needs; null: the connection is about to be closed. */
  openResponse(bytes: number): CreationRoom | null;
}

export interface CreateDeps {
  readonly api: Api;
  readonly turns: TurnDeps;
  readonly exchanges: Exchanges;
}

/** A response to be created. */
/** What a response needs while it runs. */
export interface CreationRoom {
  /** The size of the message. */
  readonly bytes: number;
  readonly held: HeldBytes;
  readonly exchange: OpenExchange;
}

export interface Creation extends CreationRoom {
  readonly streamId: string | null;
  readonly generates: boolean;
  /** Without its input as soon as that was read. */
  body: JsonObject;
  /** The response that it continues with steering input, in place of a request of the client. */
  readonly steered: SteerTarget | null;
}

/** Serves a request, and the responses that continue its own because they were steered. */
export const serveCreate = async (first: Creation, by: ServedBy, deps: CreateDeps): Promise<void> => {
  let creation: Creation | null = first;
  while (creation !== null) creation = await serveResponse(creation, by, deps);
};

/** Returns the response that continues this one, if it was steered. */
const serveResponse = async (
  creation: Creation,
  by: ServedBy,
  deps: CreateDeps,
): Promise<Creation | null> => {
  const { exchange, streamId } = creation;
  const end = exchange.hold();
  const waiting = takeWaiting(creation, by);
  const stream = new ResponseStream(by.writer, streamId, by.signal);
  try {
    await by.checkKey();
    exchange.signal.throwIfAborted();
    const { api, turns } = deps;
    const asked = { exchange, method: 'POST', path: api.path, headers: by.headers };
    const next = await traced(asked, api, turns, (trace) =>
      answer(creation, { waiting, stream, trace, by, deps }),
    );
    exchange.note({ status: 200 });
    return next;
  } catch (error) {
    creation.held.letGo();
    if (by.signal.aborted) exchange.note({ status: CLIENT_GONE });
    else report(deps.exchanges.failed(exchange, error), creation, waiting, by);
    return null;
  } finally {
    end();
  }
};

/** Tells the client that its response could not be created. */
const report = (
  failed: Failure,
  { body, streamId, exchange, steered }: Creation,
  waiting: SteerTarget | null,
  { writer, memory, steering }: ServedBy,
): void => {
  exchange.note({ status: failed.status });
  const parent = body['previous_response_id'];
  if (typeof parent === 'string') memory.evict(parent, streamId);
  for (const target of [steered, waiting]) {
    if (target !== null) steering.failed(target.pending, target, 'successor_creation_failed');
  }
  if (steered !== null) return;
  writer.send(JSON.stringify(errorEvent(failed, streamId, { 'x-request-id': exchange.requestId })));
};

const takeWaiting = ({ body, streamId }: Creation, { steering }: ServedBy): SteerTarget | null => {
  const parent = body['previous_response_id'];
  return typeof parent === 'string' ? steering.take(parent, streamId) : null;
};

interface AnswerDeps {
  /** Steering input for the response that this one continues. */
  readonly waiting: SteerTarget | null;
  readonly stream: ResponseStream;
  readonly trace: RequestTrace;
  readonly by: ServedBy;
  readonly deps: CreateDeps;
}

/** Runs the turn of a response and writes its events. Throws if it cannot be started. */
const answer = async (
  creation: Creation,
  { waiting, stream, trace, by, deps: { api, turns } }: AnswerDeps,
): Promise<Creation | null> => {
  const { exchange, streamId, held, generates } = creation;
  let target: SteerTarget | null = null;
  const source: TurnOrigin = {
    headers: by.headers,
    exchange,
    trace,
    transport: 'websocket',
    local: by.memory.of(streamId),
    held,
    generates,
    isSteered: () => target !== null && target.pending.length > 0,
  };
  const read = await readTurn(api, async () => takeBody(creation, waiting), source, turns);
  const prepared = await prepareTurn(api, read, source, turns);
  const run = generates ? await prepared.start() : prepared.skip();
  const headers = answerHeaders(read.parsed, run);
  trace.record('answered', { status: 200, head: headers });
  target = by.steering.open({ id: run.id, stream, canBeSteered: canBeSteered(creation.body) });
  const response = await write(run, headers, { stream, trace, exchange, api, turns, signal: by.signal });
  const steers = by.steering.ended(target, by.signal.aborted ? null : response);
  return steers.length === 0 ? null : successor(creation, target, by);
};

interface EventWriter extends Pick<AnswerDeps, 'stream' | 'trace'> {
  readonly exchange: OpenExchange;
  readonly api: Api;
  readonly turns: TurnDeps;
  /** The client's. */
  readonly signal: AbortSignal;
}

/** Writes the events of a run as fast as the client reads them. Returns the response as the last event has it. */
const write = async (
  run: Run,
  headers: Readonly<Record<string, string>>,
  { stream, trace, exchange, api, turns, signal }: EventWriter,
): Promise<JsonObject | null> => {
  const tally = turns.frameTally();
  exchange.atEnd(() => tally.ended());
  let head = headers;
  let response: JsonObject | null = null;
  const writeAll = async (frames: AsyncIterable<Frame>): Promise<void> => {
    for await (const frame of frames) {
      if (signal.aborted) return;
      tally.sent(frame);
      trace.record('frame', frame);
      // Awaited only when needed: there are thousands of frames.
      const full = stream.frame(frame, head);
      if (full !== null) await full;
      head = {};
      if (isJsonObject(frame.data) && isJsonObject(frame.data['response'])) response = frame.data['response'];
    }
  };
  try {
    await writeAll(run.events());
  } catch (error) {
    if (signal.aborted) return null;
    exchange.note({ failure: failure('server_error') });
    turns.onBug(error, exchange);
    await writeAll(endOfBrokenStream(api, run, turns.ambient.clock));
  }
  return response;
};

/** OpenAI's rule: what is added to a conversation or compacted has no successor. */
const canBeSteered = ({ conversation, context_management: management }: JsonObject): boolean =>
  (conversation ?? null) === null && (management ?? null) === null;

/** The body, with the steering input in front of its own. It is not kept longer than it is read. */
const takeBody = (creation: Creation, waiting: SteerTarget | null): JsonObject => {
  const { body } = creation;
  const { input, ...settings } = body;
  creation.body = settings;
  if (waiting === null) return body;
  const own = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
  return { ...body, input: [...inputOf(waiting), ...(Array.isArray(own) ? (own as readonly Json[]) : [])] };
};

const inputOf = ({ pending }: SteerTarget): readonly JsonObject[] => pending.flatMap(({ items }) => items);

/** The response that continues a steered one, with the settings of its request. */
const successor = (
  { streamId, bytes, generates, body: settings }: Creation,
  target: SteerTarget,
  by: ServedBy,
): Creation | null => {
  const opened = by.openResponse(bytes);
  if (opened === null) {
    by.steering.failed(target.pending, target, 'successor_creation_failed');
    return null;
  }
  const body = { ...settings, previous_response_id: target.id, input: inputOf(target) };
  return { ...opened, streamId, generates, body, steered: target };
};
