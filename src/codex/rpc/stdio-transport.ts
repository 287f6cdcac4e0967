import type { Readable, Writable } from 'node:stream';

import { createLineDecoder } from '../../kit/text/line-decoder.ts';
import type { LineTransport } from './transport.ts';

/** The pipes of a child process: we write to its stdin and read its stdout. */
export interface ChildPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

const nobodyListens = (): void => {};

/** Encoding many megabytes at once would block other turns. */
const MAX_WRITE_CHARS = 256 * 1024;

/** Takes the next chunk to write off the front of a queue of texts. */
const takeFrom = (queue: string[]): string => {
  let text = '';
  for (let next = queue[0]; next !== undefined && text.length < MAX_WRITE_CHARS; next = queue[0]) {
    const cut = cutOf(next, MAX_WRITE_CHARS - text.length);
    text += next.slice(0, cut);
    if (cut < next.length) queue[0] = next.slice(cut);
    else queue.shift();
  }
  return text;
};

/** At most this many characters, without splitting a surrogate pair. */
const cutOf = (text: string, room: number): number =>
  /[\uD800-\uDBFF]/.test(text.charAt(room - 1)) ? room + 1 : room;

/** JSON lines over a child's stdin and stdout. */
export const createStdioTransport = ({ stdin, stdout }: ChildPipes): LineTransport => {
  const decoder = createLineDecoder();
  // Text that waits for the end of this tick, or for a full pipe to drain.
  const waiting: string[] = [];
  let isScheduled = false;
  let blocked = false;
  let open = true;
  let onMessage: (line: string) => void = nobodyListens;
  let onClose: (cause: Error | null) => void = nobodyListens;

  const flush = (): void => {
    isScheduled = false;
    let hasRoom = true;
    while (hasRoom && waiting.length > 0) hasRoom = stdin.write(takeFrom(waiting));
    blocked = !hasRoom;
  };
  const finish = (cause: Error | null): void => {
    if (!open) return;
    open = false;
    waiting.length = 0;
    stdin.off('drain', flush);
    stdin.end();
    onClose(cause);
  };
  const deliver = (lines: readonly string[]): void => {
    for (const line of lines) {
      if (open && line !== '') onMessage(line);
    }
  };

  stdout.on('data', (chunk: Buffer) => deliver(decoder.push(chunk)));
  stdout.once('end', () => {
    deliver(decoder.end());
    finish(null);
  });
  // A destroyed stream emits no `end`, but `close`.
  stdout.once('close', () => finish(null));
  stdout.on('error', finish);
  stdin.on('drain', flush);
  // The listener stays: a pending write may still fail with EPIPE after the end.
  stdin.on('error', finish);

  return {
    send: (line) => {
      if (!open) return;
      if (typeof line === 'string') waiting.push(`${line}\n`);
      else waiting.push(...line, '\n');
      if (blocked || isScheduled) return;
      isScheduled = true;
      // Messages of one tick go out in one write: each write wakes the child.
      process.nextTick(flush);
    },
    onMessage: (listener) => {
      onMessage = listener;
    },
    onClose: (listener) => {
      onClose = listener;
    },
    close: () => {
      if (isScheduled) flush();
      finish(null);
    },
  };
};
