import { once } from 'node:events';

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
 * Streams an answer to the app-server and reads it on the way: it is the turn's content. The app-server gets
 * it byte for byte, except for what it would not accept: such events are repaired, and a CR alone becomes LF. Every
 * ending is reported.
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
        });
  const isRead = reader !== null && isEventStream(answer.headers);
  if (call !== null) {
    call.headers = callerHeaders(answer.headers, secretsIn(relayed));
    call.record('wire-head', { status: answer.statusCode, transport, head: call.headers });
  }
  try {
    outgoing.writeHead(answer.statusCode, responseHeaders(relayed, answer, options));
    reader?.begin();
    for await (const chunk of replayThenRead(streamStart ?? { held: [], pending: null }, chunks)) {
      if (!isRead) onActivity();
      // Read first, then pass on: the app-server's reaction to a chunk must follow our own.
      const reading = reader?.push(chunk);
      const read = reading instanceof Promise ? await reading : reading;
      const passed = isRead && read !== undefined ? read : chunk;
      if (call !== null && reader?.isOversized === true) {
        call.onUpstreamEvent({ kind: 'refused', failure: oversizedFailure(hostOf(relayed.target)) });
        reader.end('cut');
        // Destroy at once instead of after the pending bytes: the app-server will not read them.
        outgoing.destroy();
        return;
      }
      // This chunk has ended the turn: the app-server must not act on it.
      signal.throwIfAborted();
      call?.passed(passed.length);
      if (passed.length > 0 && !outgoing.write(passed))
        await idleTimeout.without(once(outgoing, 'drain', { signal }));
      if (reader?.isOver === true && !isLingering) {
        isLingering = true;
        idleTimeout.shorten(LINGER_MS);
      }
    }
    reportUnfinished(relayed, call, reader, isRead, options);
    const rest = reader?.end('cut');
    outgoing.end(isRead ? rest : undefined);
  } catch (error) {
    if (idleTimeout.isAtEnd && !isLingering) {
      call?.onUpstreamEvent({
        kind: 'refused',
        failure: idleFailure(hostOf(relayed.target), options.idleTimeoutMs),
      });
    } else if (!signal.aborted) reportUnfinished(relayed, call, reader, isRead, options);
    const rest = reader?.end(signal.aborted ? 'left' : 'cut');
    if (isRead && rest !== undefined && !signal.aborted) outgoing.write(rest);
    // The upstream broke off, or the app-server disconnected: end its connection after the pending bytes.
    if (signal.aborted) outgoing.destroy();
    else if (idleTimeout.isAtEnd && isLingering) outgoing.end();
    else outgoing.socket?.destroySoon();
    if (!idleTimeout.isAtEnd && !isConnectionError(error)) throw error;
  }
};

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
