import { fstatSync, write, writeSync } from 'node:fs';
import type { Writable } from 'node:stream';

import type { LogDrain } from '../observe/log-sink.ts';

/** A pipe that others have made non-blocking says that it is full instead of waiting. */
const FULL_PIPE_MS = 50;

/**
 * Standard output, whatever it is. Node writes to files and terminals while everything else stands
 * still; here a thread does that. It must not be a pipe's: a thread that waits for its reader would keep
 * the process from ending, and pipes are what Node writes to without waiting.
 */
export const standardOutput = (stream: Writable = process.stdout, fd = 1): LogDrain =>
  isPipe(fd) ? pipeDrain(stream, fd) : fileDrain(fd);

/** How long a pipe may take for what was written to it before we end. */
const LAST_WORDS_MS = 2_000;

/** Output for a person. Writing may fail: the pipe is closed, or the disk is full. */
export const sayTo = (stream: Writable): ((text: string) => void) => {
  stream.on('error', () => {});
  return (text) => void stream.write(text);
};

/** Ends the process. A pipe may take what was written later than that, so it is given some time. */
export const endProcess = (code: number, streams: readonly Writable[]): void => {
  const written = streams.map((stream) => new Promise((resolve) => stream.write('', resolve)));
  setTimeout(() => process.exit(code), LAST_WORDS_MS);
  void Promise.all(written).then(() => process.exit(code));
};

const isPipe = (fd: number): boolean => {
  try {
    const stat = fstatSync(fd);
    return stat.isFIFO() || stat.isSocket();
  } catch {
    // A closed one: writing to it fails, and that is known what to do about.
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
    // There is no place left to report it.
  }
};
