import type { Readable, Writable } from 'node:stream';

import { createLineDecoder } from '../../kit/line-decoder.ts';
import type { Transport } from './transport.ts';

/** The pipes of a child process: we write to its stdin and read its stdout. */
export interface ChildPipes {
  readonly stdin: Writable;
  readonly stdout: Readable;
}

const nobodyListens = (): void => {};

/** JSON lines over a child's stdin and stdout. */
export const createStdioTransport = ({ stdin, stdout }: ChildPipes): Transport => {
  const decoder = createLineDecoder();
  // Lines that wait for a full pipe. They leave in one write when the child has read on.
  let waiting: string[] = [];
  let blocked = false;
  let open = true;
  let onMessage: (line: string) => void = nobodyListens;
  let onClose: (cause: Error | null) => void = nobodyListens;

  const write = (text: string): void => {
    blocked = !stdin.write(text);
  };
  const flush = (): void => {
    blocked = false;
    if (waiting.length === 0) return;
    const text = waiting.join('');
    waiting = [];
    write(text);
  };
  const finish = (cause: Error | null): void => {
    if (!open) return;
    open = false;
    waiting = [];
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
  // A destroyed stream has no end, but it does close.
  stdout.once('close', () => finish(null));
  stdout.on('error', finish);
  stdin.on('drain', flush);
  // The handler stays: a write that was under way may still fail with EPIPE after the end.
  stdin.on('error', finish);

  return {
    send: (line) => {
      if (!open) return;
      if (blocked) waiting.push(`${line}\n`);
      else write(`${line}\n`);
    },
    onMessage: (listener) => {
      onMessage = listener;
    },
    onClose: (listener) => {
      onClose = listener;
    },
    close: () => finish(null),
  };
};
