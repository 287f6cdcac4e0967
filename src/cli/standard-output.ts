import { fstatSync, write, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

import type { LogDrain } from '../observe/log-sink.ts';

/** Retry interval for a full non-blocking pipe. */
const FULL_PIPE_MS = 50;

/**
 * Standard output. Node writes to files and terminals synchronously, so a thread does that here. Node writes to pipes
 * asynchronously; a thread that waits for a pipe's reader would keep the process from ending.
 */
export const standardOutput = (stream: Writable = process.stdout, fd = 1): LogDrain =>
  isPipe(fd) ? pipeDrain(stream, fd) : fileDrain(fd);

/** Time for a pipe to accept the last output before the process ends. */
const LAST_OUTPUT_MS = 2_000;

/** Writes messages. Errors are ignored: the pipe may be closed, or the disk full. */
export const sayTo = (stream: Writable): ((text: string) => void) => {
  stream.on('error', () => {});
  return (text) => void stream.write(text);
};

/** Ends the process after pipes have had some time to accept what was written. */
export const endProcess = (code: number, streams: readonly Writable[]): void => {
  const written = streams.map((stream) => new Promise((resolve) => stream.write('', resolve)));
  setTimeout(() => process.exit(code), LAST_OUTPUT_MS);
  void Promise.all(written).then(() => process.exit(code));
};

const isPipe = (fd: number): boolean => {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // Writing to a closed stream fails, and that error is handled.
    return false;
  }
};

const pipeDrain = (stream: Writable, fd: number): LogDrain => {
  // The writer gets the error.
  stream.on('error', () => {});
  return {
    write(text, done) {
      stream.write(text, (error) => done(error ?? null));
    },
    writeNow: (text) => writeNow(fd, text),
  };
};

const fileDrain = (fd: number): LogDrain => ({
  write(text, done) {
    writeAll(fd, Buffer.from(text), done);
  },
  writeNow: (text) => writeNow(fd, text),
});

const writeAll = (fd: number, bytes: Buffer, done: (error: Error | null) => void): void => {
  write(fd, bytes, (error, written) => {
    if (error?.code === 'EAGAIN') setTimeout(writeAll, FULL_PIPE_MS, fd, bytes, done).unref();
    else if (error !== null) done(error);
    else if (written < bytes.length) writeAll(fd, bytes.subarray(written), done);
    else done(null);
  });
};

const writeNow = (fd: number, text: string): void => {
  try {
    writeSync(fd, text);
  } catch {
    // There is nowhere left to report it.
  }
};
