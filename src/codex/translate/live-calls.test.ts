import { describe, expect, it } from 'vitest';

import { LiveCalls } from './live-calls.ts';
import type { WireEvent } from './wire-report.ts';

const started = (itemId: string, outputIndex: number) =>
  ({ kind: 'call-started', itemId, outputIndex, callId: `call_${itemId}`, name: 'f' }) as const;
const delta = (itemId: string, text: string): WireEvent => ({ kind: 'call-delta', itemId, delta: text });

describe('LiveCalls', () => {
  it('shows a call at once where nothing stands in front of it', () => {
    const calls = new LiveCalls();
    expect([calls.start(started('a', 0)), calls.delta('a', '{'), calls.isShown('a')]).toEqual([
      [started('a', 0)],
      [delta('a', '{')],
      true,
    ]);
  });

  it('keeps a call back until everything in front of it is done', () => {
    const calls = new LiveCalls();
    expect([calls.start(started('a', 2)), calls.delta('a', '{'), calls.delta('a', '}')]).toEqual([
      [],
      [],
      [],
    ]);
    expect([calls.itemDone('reasoning'), calls.isShown('a')]).toEqual([[], false]);
    expect([calls.itemDone('message'), calls.isShown('a')]).toEqual([
      [started('a', 2), delta('a', '{}')],
      true,
    ]);
  });

  it('shows parallel calls in their order', () => {
    const calls = new LiveCalls();
    calls.start(started('a', 0));
    expect(calls.start(started('b', 1))).toEqual([]);
    expect(calls.delta('b', '1')).toEqual([]);
    expect(calls.itemDone('a')).toEqual([started('b', 1), delta('b', '1')]);
    expect(calls.size).toBe(1);
  });

  it('knows nothing of calls that it was not told of, or without an id', () => {
    const calls = new LiveCalls();
    expect([calls.start(started('', 0)), calls.delta('x', '1'), calls.size]).toEqual([[], [], 0]);
  });

  it('counts anew in the next response', () => {
    const calls = new LiveCalls();
    calls.itemDone('a');
    calls.start(started('b', 5));
    calls.responseDone();
    expect([calls.size, calls.start(started('c', 1)), calls.itemDone('x')]).toEqual([
      0,
      [],
      [started('c', 1)],
    ]);
  });
});
