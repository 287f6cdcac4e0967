import type { Readable } from 'node:stream';

import type { IdleTimer } from '../../kit/async/wait.ts';

export interface AnswerStreamOptions {
  readonly idleTimer: IdleTimer;
  readonly idleTimeoutMs: number;
  /** Aborted by the client, a shutdown or the idle timer. */
  readonly signal: AbortSignal;
  /** Called once. Null: the answer is complete, or its reader has left. */
  readonly onEnd: (error: unknown) => void;
}

/**
 * The body of an answer, read only as fast as its reader takes it. A body that is cut off ends with an error, so that it
 * never looks complete. Only time in which the reader waits counts as idle.
 */
export const answerStream = (
  body: Readable,
  { idleTimer, idleTimeoutMs, signal, onEnd }: AnswerStreamOptions,
): ReadableStream<Uint8Array> => {
  // The iterator listens only once it is read, and an error without a listener ends the process.
  body.on('error', () => {});
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let isOver = false;
  const end = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    idleTimer.stop();
    body.destroy();
    onEnd(error);
  };
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        idleTimer.hold();
        const abort = (): void => {
          controller.error(signal.reason);
          end(signal.reason);
        };
        if (signal.aborted) abort();
        else signal.addEventListener('abort', abort, { once: true });
      },
      async pull(controller) {
        idleTimer.allow(idleTimeoutMs);
        try {
          const next = await chunks.next();
          idleTimer.hold();
          if (next.done !== true) {
            controller.enqueue(next.value);
            return;
          }
          controller.close();
          end(null);
        } catch (error) {
          controller.error(error);
          end(error);
        }
      },
      cancel: () => end(null),
    },
    { highWaterMark: 0 },
  );
};
