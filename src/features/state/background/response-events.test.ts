import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { EventBatch, ResponseStatus } from '../store/port.ts';
import type { LiveEvents } from './event-log.ts';
import { readEvents } from './response-events.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const event = (number: number): string => `event: e\ndata: {"sequence_number":${number}}\n\n`;
const DONE = 'event: done\ndata: [DONE]\n\n';

/** A response whose events the test writes, and a reader of it. */
const followed = (first = 0) => {
  const batches: EventBatch[] = [];
  const wakes = new Set<() => void>();
  const leaving = new AbortController();
  const source = {
    status: 'in_progress' as ResponseStatus | null,
    live: null as LiveEvents | null,
    failures: 0,
    reads: 0,
  };
  const events = readEvents(
    {
      owner: 'alice',
      id: 'resp_1',
      store: {
        events: {
          async after(_id: string, after: number) {
            source.reads += 1;
            if (source.failures > 0) {
              source.failures -= 1;
              throw gatewayError('store_unavailable');
            }
            return batches.filter(({ last }) => last > after);
          },
        },
        responses: {
          at: async () => (source.status === null ? null : { status: source.status, position: null }),
        },
      } as never,
      live: () => source.live,
      onChange(wake) {
        wakes.add(wake);
        return () => void wakes.delete(wake);
      },
      ending: async (from) => [event(from), DONE],
    },
    first,
    leaving.signal,
  );
  const read: string[] = [];
  let end: unknown = null;
  const follow = async (): Promise<void> => {
    end = 'reads';
    try {
      for await (const text of events) read.push(text);
      end = 'ended';
    } catch (error) {
      end = error;
    }
  };
  return {
    source,
    leaving,
    wakes,
    wake: () => [...wakes].forEach((wake) => wake()),
    write(at: number, ...texts: readonly string[]) {
      batches.push({ first: at, last: at + texts.length - 1, body: texts.join('') });
    },
    /** What was read since the last call. The first one begins to read. */
    async seen(ms = 0): Promise<readonly unknown[]> {
      if (end === null) void follow();
      await vi.advanceTimersByTimeAsync(ms);
      return [end, read.splice(0)];
    },
  };
};

describe('readEvents', () => {
  it('reads what is stored, and then what comes, until the last event', async () => {
    const { write, wake, seen, wakes } = followed();
    write(0, event(0), event(1));
    write(2, event(2));
    expect(await seen()).toEqual(['reads', [event(0), event(1), event(2)]]);
    write(3, event(3));
    expect(await seen(500)).toEqual(['reads', []]);
    wake();
    expect(await seen()).toEqual(['reads', [event(3)]]);
    write(4, event(4), DONE);
    wake();
    expect(await seen()).toEqual(['ended', [event(4), DONE]]);
    expect(wakes.size).toBe(0);
  });

  it('begins inside a batch', async () => {
    const { write, seen } = followed(2);
    write(0, event(0), event(1), event(2), DONE);
    expect(await seen()).toEqual(['ended', [event(2), DONE]]);
  });

  it('sees changes that are not reported, and survives a short failure of the store', async () => {
    const { write, seen, source } = followed();
    expect(await seen()).toEqual(['reads', []]);
    write(0, event(0));
    expect(await seen(1_000)).toEqual(['reads', [event(0)]]);
    source.failures = 10;
    write(1, event(1));
    expect(await seen(9_000)).toEqual(['reads', []]);
    expect(await seen(2_000)).toEqual(['reads', [event(1)]]);
    source.failures = 11;
    expect(await seen(20_000)).toMatchObject([{ failure: { kind: 'store_unavailable' } }, []]);
  });

  it('reads from memory without the store, and from the store what is not in memory', async () => {
    const { write, wake, seen, source } = followed();
    const recent = [event(2), event(3)];
    const live = { from: (at: number) => (at < 2 ? null : recent.slice(at - 2)), isEnded: false };
    source.live = live;
    write(0, event(0), event(1));
    expect([await seen(), source.reads]).toEqual([['reads', [event(0), event(1), ...recent]], 1]);
    recent.push(event(4), DONE);
    wake();
    expect([await seen(), source.reads]).toEqual([['ended', [event(4), DONE]], 1]);
  });

  it('goes on with the store when the log in memory has ended without its last event', async () => {
    const { write, wake, seen, source } = followed();
    const live = { from: () => [], isEnded: false };
    source.live = live;
    expect(await seen()).toEqual(['reads', []]);
    live.isEnded = true;
    write(0, event(0), DONE);
    wake();
    expect(await seen()).toEqual(['ended', [event(0), DONE]]);
  });

  it('ends at once after the last event, and beyond it', async () => {
    for (const first of [2, 3, 100]) {
      const { write, seen, source } = followed(first);
      source.status = 'completed';
      write(0, event(0), event(1), DONE);
      expect([first, await seen()]).toEqual([first, ['ended', first === 2 ? [DONE] : []]]);
    }
  });

  it('waits beyond the end of a response that runs, and ends with it', async () => {
    const { write, wake, seen, source } = followed(100);
    write(0, event(0));
    expect(await seen(5_000)).toEqual(['reads', []]);
    write(1, event(1), DONE);
    source.status = 'completed';
    wake();
    expect(await seen()).toEqual(['ended', []]);
  });

  it('makes the end itself if the server that ran the response has stopped before it wrote it', async () => {
    const { write, seen, source } = followed();
    write(0, event(0));
    source.status = 'failed';
    expect(await seen(2_500)).toEqual(['reads', [event(0)]]);
    expect(await seen(1_000)).toEqual(['ended', [event(1), DONE]]);
  });

  it('ends with a response that was deleted', async () => {
    const { seen, source, wake } = followed();
    expect(await seen()).toEqual(['reads', []]);
    source.status = null;
    wake();
    expect(await seen()).toEqual(['ended', []]);
  });

  it('ends at once when its reader leaves', async () => {
    const { seen, leaving, wakes } = followed();
    expect(await seen()).toEqual(['reads', []]);
    leaving.abort();
    expect([await seen(), wakes.size, vi.getTimerCount()]).toEqual([['ended', []], 0, 0]);
  });
});
