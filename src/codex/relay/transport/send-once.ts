import { request as send, type Dispatcher } from 'undici';

import type { JsonObject } from '../../../kit/json/json.ts';
import { readBeginning, type Beginning } from '../answer/beginning.ts';
import type { EditContext } from '../request/edits.ts';
import type { Headers } from '../../end-to-end.ts';
import { requestHeaders } from '../request/headers.ts';
import {
  isEventStream,
  toStreamFailure,
  type ForwardOptions,
  type Hop,
  type ModelCall,
} from '../server/hop.ts';
import { readModelBody, writeModelBody } from '../request/model-body.ts';
import type { IdleTimeout } from './idle-timeout.ts';
import { releasedBody } from './released-body.ts';

/** An overloaded backend says so at once; a model that thinks first is not to be kept from saying that it does. */
const HOLD_MS = 3_000;

/** An answer whose head has come, and the beginning of its body where the body is the answer. */
export interface BegunAnswer {
  readonly answer: Dispatcher.ResponseData;
  readonly chunks: AsyncIterator<Buffer>;
  readonly beginning: Beginning | null;
  readonly firstByteMs: number;
}

export interface Sending {
  readonly hop: Hop;
  readonly call: ModelCall | null;
  /** Within this time an answer that says only that it failed may still be asked for again. */
  readonly retryWithinMs: number;
  readonly idleTimeout: IdleTimeout;
  readonly options: ForwardOptions;
}

export const sendOnce = async (sending: Sending): Promise<BegunAnswer> => {
  const { hop, call, retryWithinMs, idleTimeout, options } = sending;
  const sentAt = performance.now();
  const url = hop.target + hop.path;
  const headers = withCookies(requestHeaders(hop.headers, call?.session ?? null, hop.apiKey), url, options);
  const content = await contentOf(hop, call, headers);
  call?.onLife('sent');
  const answer = await send(url, {
    method: hop.method,
    ...content,
    signal: idleTimeout.signal,
    dispatcher: options.dispatcher,
    // Patience knows better what is a sign of life.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  idleTimeout.heard();
  options.cookies?.keep(url, answer.headers['set-cookie']);
  const chunks = (answer.body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  if (answer.statusCode >= 400) return { answer, chunks, beginning: null, firstByteMs: 0 };
  // A backend that breaks off here has said nothing yet: the request may be sent again.
  const first = await chunks.next();
  const firstByteMs = performance.now() - sentAt;
  const beginning =
    call !== null && first.done !== true && retryWithinMs > 0 && isEventStream(answer.headers)
      ? await readBeginning(first.value, chunks, Math.min(retryWithinMs, HOLD_MS), {
          toFailure: toStreamFailure(hop),
          onLife: () => idleTimeout.heard(),
        })
      : { held: [], pending: Promise.resolve(first), failure: null };
  return { answer, chunks, beginning, firstByteMs };
};

/** The body as it is sent. It is read anew for every attempt: what was read of it would be as large again. */
const contentOf = async (
  hop: Hop,
  call: ModelCall | null,
  headers: Headers,
): Promise<Pick<Dispatcher.RequestOptions, 'body' | 'headers'>> => {
  if (hop.method === 'GET' || hop.method === 'HEAD') return { headers, body: null };
  const body = call === null ? null : await readModelBody(hop.body, hop.signal);
  const edited =
    call === null || body === null ? hop.body : await writeModelBody(editedBody(body, call), hop.signal);
  return { headers: { ...headers, 'content-length': String(edited.length) }, body: releasedBody(edited) };
};

export const editedBody = (body: JsonObject, call: ModelCall): JsonObject => {
  const { isFirstRequest, withheld } = call;
  const edited = call.edits.apply(body, editContext(call));
  if (call.isRecording) {
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
