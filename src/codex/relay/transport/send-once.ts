import { firstAborted } from '../../../kit/async/wait.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import { chunksOf, readStreamStart, type StreamStart } from '../answer/stream-start.ts';
import { requestHeaders } from '../request/headers.ts';
import {
  isEventStream,
  toStreamFailure,
  type ForwardOptions,
  type RelayedRequest,
  type ModelBody,
  type ModelCall,
} from '../server/relayed-request.ts';
import type { Resends } from '../server/resends.ts';
import { writeModelBody } from '../request/model-body.ts';
import { firstEventLimitMs, FirstEventWatch, NoFirstEventError, type IdleTimeout } from './idle-timeout.ts';
import { type TransportAnswer, Payload } from './model-transport.ts';

/** How long the start of an answer is held back: an overloaded backend reports it at once. */
const HOLD_MS = 3_000;

/** An answer whose headers have arrived, with the start of its body if successful. */
export interface BegunAnswer {
  readonly answer: TransportAnswer;
  readonly chunks: AsyncIterator<Buffer>;
  readonly streamStart: StreamStart | null;
  readonly firstByteMs: number;
  /** Until the first event of output; null: unknown. */
  readonly firstEventMs: number | null;
}

export interface SendParams {
  readonly relayed: RelayedRequest;
  readonly call: ModelCall | null;
  readonly resends: Resends;
  readonly idleTimeout: IdleTimeout;
  readonly options: ForwardOptions;
}

export const sendOnce = async (sending: SendParams): Promise<BegunAnswer> => {
  const { relayed, call, options } = sending;
  const body = await bodyOf(relayed, call);
  call?.onActivity('sent');
  const { firstEventTimeoutMs } = options;
  if (call === null || firstEventTimeoutMs === null) return begin(sending, body, null);
  const watch = new FirstEventWatch(firstEventLimitMs(firstEventTimeoutMs, body?.size ?? 0));
  try {
    return await begin(sending, body, watch);
  } catch (error) {
    if (watch.signal.aborted && !relayed.signal.aborted) throw new NoFirstEventError(watch.limitMs);
    throw error;
  } finally {
    watch.stop();
  }
};

const begin = async (
  { relayed, call, resends, idleTimeout, options }: SendParams,
  body: Payload | null,
  watch: FirstEventWatch | null,
): Promise<BegunAnswer> => {
  const sentAt = performance.now();
  const retryWithinMs = resends.timeLeftMs;
  const onActivity = (): void => {
    idleTimeout.heard();
    call?.onActivity('heard');
  };
  const signal = watch === null ? idleTimeout.signal : firstAborted(idleTimeout.signal, watch.signal);
  const answer = await options.transport.send({
    url: relayed.target + relayed.path,
    method: relayed.method,
    headers: requestHeaders(relayed.headers, call?.session ?? null, relayed.apiKey),
    body,
    isTurn: call !== null,
    route: resends.route,
    signal,
    onSending(transport) {
      resends.used = transport;
      call?.requestSpan.note({ transport });
      if (call !== null) options.onSending(transport);
    },
    onHeard(sign) {
      watch?.heard();
      if (sign === 'event') onActivity();
    },
  });
  idleTimeout.heard();
  call?.requestSpan.note({ status: answer.statusCode, headMs: call.requestSpan.elapsed() });
  const chunks = chunksOf(answer.body);
  if (answer.statusCode >= 400)
    return { answer, chunks, streamStart: null, firstByteMs: 0, firstEventMs: null };
  // A backend that disconnects here has sent nothing: the request may be retried.
  const first = await chunks.next();
  const firstByteMs = performance.now() - sentAt;
  const isHeld = call !== null && (retryWithinMs > 0 || watch !== null) && isEventStream(answer.headers);
  if (!isHeld || first.done === true) {
    const streamStart = {
      held: [],
      pending: Promise.resolve(first),
      failure: null,
      isCut: isHeld && watch !== null,
      hasOutput: false,
      events: null,
    };
    return { answer, chunks, streamStart, firstByteMs, firstEventMs: null };
  }
  const withinMs = watch === null ? Math.min(retryWithinMs, HOLD_MS) : null;
  const streamStart = await readStreamStart(first.value, chunks, withinMs, {
    toFailure: toStreamFailure(relayed, options.clock),
    onActivity,
    onHeard: () => watch?.heard(),
  });
  if (watch?.signal.aborted === true) throw new NoFirstEventError(watch.limitMs);
  const firstEventMs = streamStart.hasOutput ? performance.now() - sentAt : null;
  return { answer, chunks, streamStart, firstByteMs, firstEventMs };
};

/** The body to send. Built anew for every attempt: keeping it would double the memory of a conversation. */
const bodyOf = async (relayed: RelayedRequest, call: ModelCall | null): Promise<Payload | null> => {
  if (relayed.method === 'GET' || relayed.method === 'HEAD') return null;
  return new Payload(
    call === null || relayed.model === null
      ? relayed.body
      : await writeModelBody(editedBody(relayed.model, call), relayed.signal),
  );
};

export const editedBody = ({ body, carried }: ModelBody, call: ModelCall): JsonObject => {
  const { isFirstRequest, withheld, answers } = call;
  const edited = call.edits.apply(body, { without: withheld, isFirstRequest, carried, answers });
  if (call.isTraced) {
    // Without the earlier turns of the thread.
    const before = carried === null ? body : { ...body, input: carried.own };
    call.record('wire-sent', { before, after: edited, isFirstRequest, withheld: [...withheld] });
  }
  return edited;
};
