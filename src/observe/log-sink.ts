import type { DestinationStream } from 'pino';

import { within } from '../kit/async/wait.ts';

/** Writes log bytes. Calls `done` when they are written, or with the error; may never call back. */
export interface LogDrain {
  write(text: string, done: (error: Error | null) => void): void;
  /** The last attempt before the process ends: must not wait or throw. */
  writeNow(text: string): void;
}

/** Takes the lines of the log, each as JSON. */
export type LineWriter = DestinationStream;

export interface LogSink extends LineWriter {
  /** Waits until all lines are written, but no longer than this. */
  flush(timeoutMs: number): Promise<void>;
  /** Writes what can be written without waiting, at the end of the process. */
  close(): void;
  /** Called with the number of dropped lines, including earlier ones. */
  onDropped(listener: (lines: number) => void): void;
  /** Called when lines are written again, with the number of lines dropped before. */
  onResumed(listener: (lines: number) => void): void;
}

export interface LogSinkOptions {
  /** Limit for queued lines. */
  readonly maxBytes?: number;
  /** Pause after a failed write. */
  readonly retryMs?: number;
  /** Least time between two writes; 0: none. */
  readonly gapMs?: number;
}

const MAX_BYTES = 8 * 1024 * 1024;
const RETRY_MS = 1_000;
/** A busy server logs a line every few milliseconds, and a write for each would cost as much as the line. */
const GAP_MS = 50;
/** Lines are written together, up to this many characters. */
const BATCH_CHARS = 64 * 1024;

/**
 * Queues log lines for output. If the reader of a pipe stops, a pipe closes or a disk is full, lines wait up to a
 * limit and are then dropped and counted. Logging never blocks and never throws.
 *
 * Not sonic-boom (4.2.1 was tried): it writes to a pipe in a libuv thread, so `process.exit` never returns while the
 * reader does not read, and its `flushSync` retries forever on a closed pipe. See docs/decisions/0005.
 */
export const createLogSink = (drain: LogDrain, options: LogSinkOptions = {}): LogSink => {
  const { maxBytes = MAX_BYTES, retryMs = RETRY_MS, gapMs = GAP_MS } = options;
  let waiting: string[] = [];
  let waitingBytes = 0;
  let isWriting = false;
  let retry: NodeJS.Timeout | null = null;
  /** Set for a while after each write, in which lines wait for each other. */
  let gap: NodeJS.Timeout | null = null;
  let dropped = 0;
  let droppedSince = 0;
  let tellDropped: (lines: number) => void = () => {};
  let tellResumed: (lines: number) => void = () => {};
  let whenEmpty: (() => void) | null = null;

  const drop = (lines: number): void => {
    dropped += lines;
    droppedSince += lines;
    tellDropped(lines);
  };

  const next = (): void => {
    if (isWriting || retry !== null) return;
    if (waiting.length === 0) {
      whenEmpty?.();
      return;
    }
    if (gap !== null && whenEmpty === null && waitingBytes < BATCH_CHARS) return;
    if (gapMs > 0) beginGap();
    const batch = takeBatch(waiting);
    waiting = waiting.slice(batch.length);
    isWriting = true;
    const text = batch.join('');
    drain.write(text, (error) => {
      isWriting = false;
      waitingBytes -= Buffer.byteLength(text);
      if (error === null) resumed();
      else failed(batch.length);
      next();
    });
  };

  const beginGap = (): void => {
    if (gap !== null) clearTimeout(gap);
    gap = setTimeout(() => {
      gap = null;
      next();
    }, gapMs);
    // The log must not keep the process alive.
    gap.unref();
  };

  const resumed = (): void => {
    const lines = droppedSince;
    droppedSince = 0;
    if (lines > 0) tellResumed(lines);
  };

  const failed = (lines: number): void => {
    drop(lines);
    retry = setTimeout(() => {
      retry = null;
      next();
    }, retryMs);
    retry.unref();
  };

  return {
    write(line) {
      const bytes = Buffer.byteLength(line);
      if (waitingBytes + bytes > maxBytes) {
        drop(1);
        return;
      }
      waiting.push(line);
      waitingBytes += bytes;
      next();
    },
    async flush(timeoutMs) {
      if (waiting.length === 0 && !isWriting) return;
      const empty = Promise.withResolvers<void>();
      whenEmpty = empty.resolve;
      next();
      await within(empty.promise, timeoutMs);
      whenEmpty = null;
    },
    close() {
      // Not possible after a batch that is in progress or has failed.
      if (!isWriting && retry === null && waiting.length > 0) drain.writeNow(waiting.join(''));
      waiting = [];
    },
    onDropped(listener) {
      tellDropped = listener;
      if (dropped > 0) listener(dropped);
    },
    onResumed(listener) {
      tellResumed = listener;
    },
  };
};

const takeBatch = (lines: readonly string[]): readonly string[] => {
  let chars = 0;
  const end = lines.findIndex((line) => {
    chars += line.length;
    return chars > BATCH_CHARS;
  });
  return end === -1 ? lines : lines.slice(0, Math.max(end, 1));
};
