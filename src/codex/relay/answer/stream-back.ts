import { oversizedFailure, idleFailure, unfinishedFailure } from '../../failures/classify.ts';
import { hostOf } from '../../failures/unreachable.ts';
import { AnswerReader } from './answer-reader.ts';
import { replayThenRead } from './stream-start.ts';
import { isConnectionError } from '../transport/connection.ts';
import { callerHeaders } from '../request/headers.ts';
import {
  isEventStream,
  responseHeaders,
  toStreamFailure,
  type ForwardOptions,
  type RelayedRequest,
  type ModelCall,
} from '../server/relayed-request.ts';
import { secretsIn } from './http-failure.ts';
import type { IdleTimeout } from '../transport/idle-timeout.ts';
import type { TransportName } from '../transport/model-transport.ts';
import type { BegunAnswer } from '../transport/send-once.ts';

/** How long to wait for the connection to close after the final event. */
const LINGER_MS = 500;

/**
 * Streams an answer to the app-server and reads it on the way: it is the turn's content. Every ending is reported. The
 * app-server gets what the backend has sent, except for what it would not accept: such events are repaired, and a CR
 * alone becomes LF. In a turn whose answers are held back it gets no previews of items.
 */
export const streamBack = async (
  relayed: RelayedRequest,
  call: ModelCall | null,
  { answer, chunks, streamStart, transport }: BegunAnswer & { readonly transport: TransportName },
  idleTimeout: IdleTimeout,
  options: ForwardOptions,
): Promise<void> => {
  const { outgoing, signal } = relayed;
  let isLingering = false;
  const onActivity = (): void => {
    if (!isLingering) idleTimeout.heard();
    call?.onActivity('heard');
  };
  const reader =
    call === null
      ? null
      : new AnswerReader({
          ...options,
          onUpstreamEvent: call.onUpstreamEvent,
          toFailure: toStreamFailure(relayed, options.clock),
          signal,
          onActivity,
          onEvent: call.isTraced ? (type, data) => call.record('wire-said', { type, data }) : undefined,
          withoutPreviews: call.holdsAnswers,
          events: streamStart?.events ?? undefined,
        });
  const isRead = reader !== null && isEventStream(answer.headers);
  if (call !== null) {
    call.headers = callerHeaders(answer.headers, secretsIn(relayed));
    call.record('wire-head', { status: answer.statusCode, transport, head: call.headers });
  }
  try {
    outgoing.begin(answer.statusCode, responseHeaders(relayed, answer, options));
    if (!isRead) outgoing.pass();
    reader?.begin();
    for await (const chunk of replayThenRead(streamStart ?? { held: [], pending: null }, chunks)) {
      if (!isRead) onActivity();
      // Read first, then pass on: the app-server's reaction to a chunk must follow our own.
      const reading = reader?.push(chunk);
      const read = reading instanceof Promise ? await reading : reading;
      // Only an event stream is split before it is read.
      const passed = isRead || !(chunk instanceof Uint8Array) ? (read ?? NOTHING) : chunk;
      if (call !== null && reader?.isOversized === true) {
        call.onUpstreamEvent({ kind: 'refused', failure: oversizedFailure(hostOf(relayed.target)) });
        reader.end('cut');
        // At once instead of after the pending bytes: the app-server will not read them.
        outgoing.abandon();
        return;
      }
      // This chunk has ended the turn: the app-server must not act on it.
      signal.throwIfAborted();
      let hasRoom = passed.length === 0 || outgoing.write(passed);
      if (reader?.isOver === true && !isLingering) {
        hasRoom = outgoing.pass() && hasRoom;
        isLingering = true;
        idleTimeout.shorten(LINGER_MS);
      }
      if (!hasRoom) await idleTimeout.without(outgoing.drained(signal));
    }
    reportUnfinished(relayed, call, reader, isRead, options);
    const rest = reader?.end('cut');
    outgoing.end(isRead && rest !== undefined ? rest : NOTHING);
  } catch (error) {
    if (idleTimeout.isAtEnd && !isLingering) {
      call?.onUpstreamEvent({
        kind: 'refused',
        failure: idleFailure(hostOf(relayed.target), options.idleTimeoutMs),
      });
    } else if (!signal.aborted) reportUnfinished(relayed, call, reader, isRead, options);
    const unread = reader?.end(signal.aborted ? 'left' : 'cut');
    const rest = isRead && unread !== undefined ? unread : NOTHING;
    // The upstream broke off, or the app-server has left, or no one reads the answer any more.
    if (signal.aborted) outgoing.abandon();
    else if (idleTimeout.isAtEnd && isLingering) outgoing.end(rest);
    else outgoing.breakOff(rest);
    if (!idleTimeout.isAtEnd && !isConnectionError(error)) throw error;
  }
};

const NOTHING = new Uint8Array(0);

const NO_STREAM = 'answered with something other than an event stream';

/** Reports why the answer is incomplete, if the backend has given no reason. */
const reportUnfinished = (
  relayed: RelayedRequest,
  call: ModelCall | null,
  reader: AnswerReader | null,
  isStream: boolean,
  { onUnfinished }: ForwardOptions,
): void => {
  const cause = reader?.unfinished ?? null;
  if (call === null || cause === null) return;
  const failed = unfinishedFailure(hostOf(relayed.target), isStream ? cause : NO_STREAM);
  onUnfinished?.(failed.message);
  call.onUpstreamEvent({ kind: 'refused', failure: failed });
};
