import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { createLogSink, type LogDrain } from './log-sink.ts';

/** A drain that completes writes when the test says so. */
const held = (): LogDrain & {
  readonly taken: string[];
  readonly now: string[];
  next(error?: Error): void;
} => {
  const taken: string[] = [];
  const now: string[] = [];
  let pending: ((error: Error | null) => void) | null = null;
  return {
    taken,
    now,
    write(text, done) {
      taken.push(text);
      pending = done;
    },
    writeNow: (text) => void now.push(text),
    next(error) {
      const done = pending;
      pending = null;
      done?.(error ?? null);
    },
  };
};

const full = new Error('ENOSPC');

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('createLogSink', () => {
  it('writes lines in order, in batches while the drain is busy', () => {
    const drain = held();
    const sink = createLogSink(drain, { gapMs: 0 });
    for (const line of ['a\n', 'b\n', 'c\n']) sink.write(line);
    drain.next();
    drain.next();
    expect(drain.taken).toEqual(['a\n', 'b\nc\n']);
  });

  it('writes a line at once, and those that follow soon together', () => {
    const drain = held();
    const sink = createLogSink(drain, { gapMs: 50 });
    sink.write('a\n');
    drain.next();
    sink.write('b\n');
    vi.advanceTimersByTime(30);
    sink.write('c\n');
    expect(drain.taken).toEqual(['a\n']);
    vi.advanceTimersByTime(20);
    expect(drain.taken).toEqual(['a\n', 'b\nc\n']);
    drain.next();
    sink.write('d\n');
    sink.close();
    expect([drain.taken, drain.now]).toEqual([['a\n', 'b\nc\n'], ['d\n']]);
  });

  it('splits a long queue between lines', () => {
    const drain = held();
    const sink = createLogSink(drain, { gapMs: 0 });
    const long = `${'x'.repeat(40_000)}\n`;
    for (let count = 0; count < 4; count += 1) sink.write(long);
    for (let count = 0; count < 4; count += 1) drain.next();
    expect(drain.taken).toEqual([long, long, long, long]);
  });

  it('drops and counts lines above the byte limit, and reports when writing resumes', () => {
    const drain = held();
    const sink = createLogSink(drain, { maxBytes: 10, gapMs: 0 });
    const told: string[] = [];
    sink.write('ééé\n');
    sink.write('xxxx\n');
    sink.write('y\n');
    sink.onDropped((lines) => told.push(`dropped ${lines}`));
    sink.onResumed((lines) => told.push(`resumed after ${lines}`));
    sink.write('zz\n');
    drain.next();
    sink.write('now\n');
    drain.next();
    drain.next();
    expect([drain.taken, told]).toEqual([
      ['ééé\n', 'y\n', 'now\n'],
      ['dropped 1', 'dropped 1', 'resumed after 2'],
    ]);
  });

  it('drops lines that could not be written, and retries later', () => {
    const drain = held();
    const sink = createLogSink(drain, { retryMs: 1_000 });
    const dropped: number[] = [];
    sink.onDropped((lines) => dropped.push(lines));
    sink.write('a\n');
    drain.next(full);
    sink.write('b\n');
    expect([drain.taken, dropped]).toEqual([['a\n'], [1]]);
    vi.advanceTimersByTime(1_000);
    expect(drain.taken).toEqual(['a\n', 'b\n']);
  });

  it('waits for the last line up to a timeout', async () => {
    const drain = held();
    const sink = createLogSink(drain, { gapMs: 0 });
    await sink.flush(1_000);
    sink.write('a\n');
    const flushed = sink.flush(1_000);
    drain.next();
    await flushed;
    sink.write('b\n');
    const late = sink.flush(1_000);
    vi.advanceTimersByTime(1_000);
    await late;
    expect(drain.taken).toEqual(['a\n', 'b\n']);
  });

  it('writes the rest synchronously on close', () => {
    const stuck = held();
    const behind = createLogSink(stuck);
    behind.write('a\n');
    behind.write('b\n');
    behind.close();
    expect(stuck.now).toEqual([]);
    behind.close();
    stuck.next();
    expect([stuck.taken, stuck.now]).toEqual([['a\n'], []]);
  });
});
