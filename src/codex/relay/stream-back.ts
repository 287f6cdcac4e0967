import { once } from 'node:events';

import { endlessFailure, silentFailure } from '../failures/classify.ts';
import { hostOf } from '../failures/unreachable.ts';
import { AnswerReader, type AnswerReaderOptions } from './answer-reader.ts';
import { passOn } from './beginning.ts';
import { isConnectionError } from './connection.ts';
import { callerHeaders } from './headers.ts';
import {
  isEventStream,
  passedBack,
  toStreamFailure,
  type ForwardOptions,
  type Hop,
  type ModelCall,
} from './hop.ts';
import { sourceOf } from './http-failure.ts';
import type { Patience } from './patience.ts';
import type { BegunAnswer } from './send-once.ts';

/** A backend that has said its last word and leaves the connection open is not waited for. */
const LINGER_MS = 500;

/**
 * Streams an answer back byte for byte, and reads it on its way: what is read there is the turn's
 * content. However it ends, that is told.
 */
export const streamBack = async (
  hop: Hop,
  call: ModelCall | null,
  { answer, chunks, beginning }: BegunAnswer,
  patience: Patience,
  options: ForwardOptions,
): Promise<void> => {
  const { outgoing, signal } = hop;
  let isLingering = false;
  const onLife = (): void => {
    if (!isLingering) patience.heard();
    call?.onLife('heard');
  };
  const reader =
    call === null
      ? null
      : readerOf(hop, call, {
          onLife,
          onUnreadable: options.onUnreadable,
          onEvent: call.isTold ? (type, data) => call.tell('wire-said', { type, data }) : undefined,
        });
  const isRead = reader !== null && isEventStream(answer.headers);
  if (call !== null) {
    const { secrets } = sourceOf(hop.target, hop.headers, hop.apiKey);
    call.headers = callerHeaders(answer.headers, secrets);
    call.tell('wire-head', { status: answer.statusCode, head: call.headers });
  }
  try {
    outgoing.writeHead(answer.statusCode, passedBack(hop, answer, options));
    reader?.begin();
    for await (const chunk of passOn(beginning ?? { held: [], pending: null }, chunks)) {
      if (!isRead) onLife();
      // First read, then passed on: what the app-server does about a chunk comes after we have told it.
      const reading = reader?.push(chunk) ?? null;
      if (reading !== null) await reading;
      if (call !== null && reader?.isEndless === true) {
        call.onSignal({ kind: 'refused', failure: endlessFailure(hostOf(hop.target)) });
        reader.end('cut');
        // Now, and not behind what was said before: nobody reads that to its end.
        outgoing.destroy();
        return;
      }
      if (!outgoing.write(chunk)) await patience.without(once(outgoing, 'drain', { signal }));
      if (reader?.isOver === true && !isLingering) {
        isLingering = true;
        patience.shorten(LINGER_MS);
      }
    }
    reader?.end('cut');
    outgoing.end();
  } catch (error) {
    if (patience.isAtEnd && !isLingering) {
      call?.onSignal({ kind: 'refused', failure: silentFailure(hostOf(hop.target), options.idleTimeoutMs) });
    }
    reader?.end(signal.aborted ? 'left' : 'cut');
    // Cut off upstream, or nobody is left downstream: the app-server's connection ends too, behind what
    // was said before, and that is all.
    if (signal.aborted) outgoing.destroy();
    else if (patience.isAtEnd && isLingering) outgoing.end();
    else outgoing.socket?.destroySoon();
    if (!patience.isAtEnd && !isConnectionError(error)) throw error;
  }
};

const readerOf = (
  hop: Hop,
  { onSignal }: ModelCall,
  listeners: Pick<AnswerReaderOptions, 'onLife' | 'onUnreadable' | 'onEvent'>,
): AnswerReader =>
  new AnswerReader({ onSignal, toFailure: toStreamFailure(hop), signal: hop.signal, ...listeners });
