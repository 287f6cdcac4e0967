import { describe, expect, it, afterEach, beforeEach, vi } from 'vitest';

import { MAX_ANSWER_CHARS, ModelBudget } from '../../canonical/context/model-budget.ts';
import type { Produced } from '../../canonical/request/item.ts';
import { charsIn } from '../../kit/json/json.ts';
import { failure } from '../../canonical/failure/failure.ts';
import { AnswerSize, REPORT_MS, TurnWatch } from './turn-attempt.ts';

const message = (text: string): Produced => ({
  kind: 'message',
  id: 'm',
  role: 'assistant',
  parts: [{ kind: 'text', text }],
});

describe('AnswerSize', () => {
  it('counts a text once, streamed or whole, and a short delta as its frame', () => {
    const long = 'x'.repeat(1000);
    const whole = new AnswerSize().of({ type: 'item-ended', item: message(long) });
    expect(whole).toBeGreaterThanOrEqual(1000);
    const size = new AnswerSize();
    const delta = { type: 'item-delta', itemId: 'm', at: 'text' } as const;
    expect(size.of({ ...delta, delta: long })).toBe(1000);
    expect(size.of({ type: 'item-ended', item: message(long) })).toBe(whole - 1000);
    expect(new AnswerSize().of({ ...delta, delta: 'x' })).toBe(32);
  });

  it('counts what an item begins with, once, and no previews', () => {
    const size = new AnswerSize();
    const whole = charsIn(message('x'.repeat(1000)));
    expect(size.of({ type: 'item-started', item: message('x'.repeat(1000)) })).toBe(whole);
    expect(size.of({ type: 'item-ended', item: message('x'.repeat(1001)) })).toBe(1);
    const status = { type: 'item-status', itemId: 'm', status: 'in_progress' } as const;
    expect(size.of({ ...status, more: { partial_image_b64: 'x'.repeat(100) } })).toBe(32);
  });
});

describe('the text of an answer', () => {
  it('has one limit for all its parts', () => {
    const budget = new ModelBudget(1);
    expect([budget.write(MAX_ANSWER_CHARS), budget.write(0), budget.write(1)]).toEqual([true, true, false]);
  });
});

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
