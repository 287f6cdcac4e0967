import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { failure } from '../../canonical/failure/failure.ts';
import { REPORT_MS, TurnWatch } from './turn-watch.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const IDLE_MS = 10_000;
const setUp = (graceMs: number) => {
  const seen: unknown[] = [];
  const watch = new TurnWatch({
    idleTimeoutMs: IDLE_MS,
    graceMs,
    end: (failed) => seen.push(failed),
  });
  watch.start();
  const pass = (ms: number): unknown[] => {
    vi.advanceTimersByTime(ms);
    return seen.splice(0);
  };
  return { watch, pass };
};
const SILENT = failure('upstream_timeout', { message: 'The upstream sent nothing for 10 s.' });
const BROKEN = failure('upstream_error');
const WHOLE = { kind: 'answer-ended', how: 'completed', response: {} } as const;

describe('the watch over a turn', () => {
  it('ends a silent turn', () => {
    const { watch, pass } = setUp(0);
    expect(pass(9_999)).toEqual([]);
    watch.heard();
    expect(pass(9_999)).toEqual([]);
    expect(pass(1)).toEqual([SILENT]);
    expect(pass(100_000)).toEqual([]);
  });

  it('with a relay watches the app-server instead of the backend', () => {
    const { watch, pass } = setUp(REPORT_MS);
    expect(pass(39_999)).toEqual([]);
    watch.heard();
    expect(pass(39_999)).toEqual([]);
    expect(pass(1)).toEqual([SILENT]);
  });

  it('waits for the reason when the app-server disconnects from an answer', () => {
    const { watch, pass } = setUp(REPORT_MS);
    watch.wire({ kind: 'answer-started' });
    watch.wire({ kind: 'answer-ended', how: 'left' });
    expect(pass(29_999)).toEqual([]);
    watch.heard();
    expect(pass(29_999)).toEqual([]);
    // Not even then was anything told.
    expect(pass(1)).toEqual([BROKEN]);
  });

  it('waits for the app-server after a complete answer', () => {
    const { watch, pass } = setUp(REPORT_MS);
    watch.wire(WHOLE);
    expect(pass(29_999)).toEqual([]);
    expect(pass(1)).toEqual([BROKEN]);
  });

  it('waits for the next answer when the app-server asks again', () => {
    const { watch, pass } = setUp(REPORT_MS);
    watch.wire(WHOLE);
    watch.sent();
    expect(pass(39_999)).toEqual([]);
    expect(pass(1)).toEqual([SILENT]);
  });

  it('waits longer while the app-server runs tools, and only then', () => {
    const { watch, pass } = setUp(REPORT_MS);
    watch.wire(WHOLE);
    watch.tools(120_000);
    expect(pass(119_999)).toEqual([]);
    watch.tools(null);
    expect(pass(29_999)).toEqual([]);
    expect(pass(1)).toEqual([BROKEN]);
  });

  it('leaves no timer behind', () => {
    const { watch, pass } = setUp(REPORT_MS);
    watch.stop();
    watch.wire(WHOLE);
    watch.sent();
    expect([pass(1_000_000), vi.getTimerCount()]).toEqual([[], 0]);
  });
});
