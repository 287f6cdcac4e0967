import { request as send, type Dispatcher } from 'undici';

import type { JsonObject } from '../../../kit/json/json.ts';
import { readStreamStart, type StreamStart } from '../answer/stream-start.ts';
import type { EditContext } from '../request/edits.ts';
import type { Headers } from '../../end-to-end-headers.ts';
import { requestHeaders } from '../request/headers.ts';
import {
  isEventStream,
  toStreamFailure,
  type ForwardOptions,
  type RelayedRequest,
  type ModelCall,
} from '../server/relayed-request.ts';
import { readModelBody, writeModelBody } from '../request/model-body.ts';
import type { IdleTimeout } from './idle-timeout.ts';
import { releasedBody } from './released-body.ts';

/** How long the start of an answer is held back: an overloaded backend reports it at once. */
const HOLD_MS = 3_000;

/** An answer whose headers have arrived, with the start of its body if successful. */
export interface BegunAnswer {
  readonly answer: Dispatcher.ResponseData;
  readonly chunks: AsyncIterator<Buffer>;
  readonly streamStart: StreamStart | null;
  readonly firstByteMs: number;
}

export interface Sending {
  readonly relayed: RelayedRequest;
  readonly call: ModelCall | null;
  /** Within this time an answer that is only a failure may be retried. */
  readonly retryWithinMs: number;
  readonly idleTimeout: IdleTimeout;
  readonly options: ForwardOptions;
}

export const sendOnce = async (sending: Sending): Promise<BegunAnswer> => {
  const { relayed, call, retryWithinMs, idleTimeout, options } = sending;
  const sentAt = performance.now();
  const url = relayed.target + relayed.path;
  const headers = withCookies(
    requestHeaders(relayed.headers, call?.session ?? null, relayed.apiKey),
    url,
    options,
  );
  const content = await contentOf(relayed, call, headers);
  call?.onActivity('sent');
  const answer = await send(url, {
    method: relayed.method,
    ...content,
    signal: idleTimeout.signal,
    dispatcher: options.dispatcher,
    // `IdleTimeout` limits the wait instead.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  idleTimeout.heard();
  options.cookies?.keep(url, answer.headers['set-cookie']);
  const chunks = (answer.body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  if (answer.statusCode >= 400) return { answer, chunks, streamStart: null, firstByteMs: 0 };
  // A backend that disconnects here has sent nothing: the request may be retried.
  const first = await chunks.next();
  const firstByteMs = performance.now() - sentAt;
  const streamStart =
    call !== null && first.done !== true && retryWithinMs > 0 && isEventStream(answer.headers)
      ? await readStreamStart(first.value, chunks, Math.min(retryWithinMs, HOLD_MS), {
          toFailure: toStreamFailure(relayed, options.clock),
          onActivity: () => idleTimeout.heard(),
        })
      : { held: [], pending: Promise.resolve(first), failure: null };
  return { answer, chunks, streamStart, firstByteMs };
};

/** The body to send. Built anew for every attempt: keeping the parsed form would double the memory. */
const contentOf = async (
  relayed: RelayedRequest,
  call: ModelCall | null,
  headers: Headers,
): Promise<Pick<Dispatcher.RequestOptions, 'body' | 'headers'>> => {
  if (relayed.method === 'GET' || relayed.method === 'HEAD') return { headers, body: null };
  const body = call === null ? null : await readModelBody(relayed.body, relayed.signal);
  const edited =
    call === null || body === null
      ? relayed.body
      : await writeModelBody(editedBody(body, call), relayed.signal);
  return { headers: { ...headers, 'content-length': String(edited.length) }, body: releasedBody(edited) };
};

export const editedBody = (body: JsonObject, call: ModelCall): JsonObject => {
  const { isFirstRequest, withheld } = call;
  const edited = call.edits.apply(body, editContext(call));
  if (call.isTraced) {
    call.record('wire-sent', { before: body, after: edited, isFirstRequest, withheld: [...withheld] });
  }
  return edited;
};

const editContext = (call: ModelCall): EditContext => ({
  without: call.withheld,
  isFirstRequest: call.isFirstRequest,
  answers: call.answers,
  onInput: (found) => call.onInput(found),
});

const withCookies = (headers: Headers, url: string, { cookies }: ForwardOptions): Headers => {
  const own = cookies?.headerFor(url) ?? null;
  return own === null ? headers : { ...headers, cookie: [headers['cookie'] ?? [], own].flat().join('; ') };
};
