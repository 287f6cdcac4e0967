import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { LiveOutput, MAX_LIVE_BYTES } from './live-output.ts';

describe('LiveOutput', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 0 }));
  afterEach(() => void vi.useRealTimers());

  const liveOutput = () => {
    const sent: string[] = [];
    const room = { isThere: true };
    const live = new LiveOutput({
      send: (callId, text) => sent.push(`${callId}: ${text}`),
      hasRoom: () => room.isThere,
    });
    return { live, sent, room };
  };

  it('sends at most one piece in ten milliseconds, for all calls in turn', async () => {
    const { live, sent } = liveOutput();
    live.add('a', '1');
    for (const text of ['2', '3']) live.add('a', text);
    live.add('b', 'x');
    expect(sent).toEqual(['a: 1']);
    await vi.advanceTimersByTimeAsync(10);
    live.add('a', '4');
    expect(sent).toEqual(['a: 1', 'a: 23']);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent.slice(2)).toEqual(['b: x']);
    await vi.advanceTimersByTimeAsync(10);
    expect(sent.slice(3)).toEqual(['a: 4']);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(10);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends the rest at the end, if it knows all and nothing is missing before', () => {
    const ends = (pieces: readonly string[], whole: string | null): string => {
      const { live, sent } = liveOutput();
      for (const piece of pieces) live.add('a', piece);
      live.end('a', whole);
      live.stop();
      return sent.map((text) => text.slice(3)).join('');
    };
    expect([
      ends(['on', 'e'], 'one two'),
      ends([], 'one'),
      ends(['ne', ' two'], 'one two'),
      ends(['on', 'e'], null),
      ends([], ''),
    ]).toEqual(['one two', 'one', 'ne two', 'one', '']);
  });

  it('sends at once what waits, and goes on', () => {
    const { live, sent, room } = liveOutput();
    live.flush('a');
    for (const text of ['1', '2']) live.add('a', text);
    room.isThere = false;
    live.flush('a');
    expect(sent).toEqual(['a: 1']);
    room.isThere = true;
    live.flush('a');
    live.flush('a');
    live.end('a', '123');
    live.stop();
    expect(sent).toEqual(['a: 1', 'a: 2', 'a: 3']);
  });

  it('waits while the reader is slow, and drops what is left then', async () => {
    const { live, sent, room } = liveOutput();
    room.isThere = false;
    live.add('a', 'x');
    await vi.advanceTimersByTimeAsync(100);
    room.isThere = true;
    await vi.advanceTimersByTimeAsync(10);
    expect(sent).toEqual(['a: x']);
    room.isThere = false;
    live.add('a', 'y');
    live.end('a', 'xy');
    expect(sent).toEqual(['a: x']);
    live.stop();
  });

  it('ends before its limit, between two characters', () => {
    const { live, sent } = liveOutput();
    live.add('a', 'x'.repeat(MAX_LIVE_BYTES - 3));
    live.add('a', '😀!');
    live.add('a', 'y');
    live.end('a', `${'x'.repeat(MAX_LIVE_BYTES - 3)}😀!y`);
    live.stop();
    expect(sent.map((text) => text.length)).toEqual([MAX_LIVE_BYTES]);
  });
});
