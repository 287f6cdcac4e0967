import { describe, expect, it } from 'vitest';
import { END, messageTold } from '../../test/support/item-events.ts';
import { gatewayError, failure } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Usage } from '../canonical/events/usage.ts';
import { createMetrics } from './metrics.ts';
import { tap } from './observer.ts';
import type { TapOptions, TurnObserver } from './observer.ts';
import { turnMetrics } from './turn-metrics.ts';

const usage: Usage = {
  inputTokens: 10,
  cachedInputTokens: 4,
  cacheWriteInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 2,
  totalTokens: 15,
};
const events: readonly TurnEvent[] = [...messageTold('m', 'hi'), { ...END, usage }];

async function* play(script: readonly TurnEvent[], error?: Error): AsyncGenerator<TurnEvent> {
  yield* script;
  if (error !== undefined) throw error;
}

/** A clock that advances by a millisecond with each reading. */
const options = (extra: Partial<TapOptions> = {}): TapOptions & { errors: unknown[] } => {
  let time = 1000;
  const errors: unknown[] = [];
  return {
    clock: { now: () => (time += 1) },
    startedAt: 990,
    onObserverError: (error) => void errors.push(error),
    errors,
    ...extra,
  };
};

const recorder = (): TurnObserver & { readonly calls: unknown[] } => {
  const calls: unknown[] = [];
  return {
    calls,
    onStart: () => void calls.push('start'),
    onEvent: (event) => void calls.push(event),
    onEnd: (summary) => void calls.push(summary),
  };
};

const collect = async (source: AsyncIterable<TurnEvent>): Promise<TurnEvent[]> => {
  const all: TurnEvent[] = [];
  for await (const event of source) all.push(event);
  return all;
};

const broken: TurnObserver = {
  onStart() {
    throw new Error('start');
  },
  onEvent() {
    throw new Error('event');
  },
  onEnd() {
    throw new Error('end');
  },
};

describe('tap', () => {
  it('passes every event on unchanged, and reports how the turn ended', async () => {
    const watcher = recorder();
    const passed = await collect(tap(play(events), [watcher, {}], options()));
    expect(passed).toEqual(events);
    expect(passed.map((event, index) => event === events[index])).toEqual(events.map(() => true));
    expect(watcher.calls).toEqual([
      'start',
      ...events,
      { ending: { kind: 'ended', outcome: { kind: 'completed' } }, usage, firstEventMs: 11, durationMs: 12 },
    ]);
  });

  it('catches errors of observers, and reports each observer once', async () => {
    const watcher = recorder();
    const given = options();
    expect(await collect(tap(play(events), [broken, watcher], given))).toEqual(events);
    expect(watcher.calls).toHaveLength(events.length + 2);
    expect(given.errors).toEqual([new Error('start')]);
  });

  it('reports a reader that stopped', async () => {
    const watcher = recorder();
    const tapped = tap(play(events), [watcher], options())[Symbol.asyncIterator]();
    await tapped.next();
    await tapped.return?.();
    expect(watcher.calls).toEqual([
      'start',
      events[0],
      { ending: { kind: 'abandoned' }, usage: null, firstEventMs: 11, durationMs: 12 },
    ]);
  });

  it('counts a turn as ended if its reader stops after the last event', async () => {
    const watcher = recorder();
    const tapped = tap(play(events.slice(3)), [watcher], options())[Symbol.asyncIterator]();
    await tapped.next();
    await tapped.return?.();
    expect(watcher.calls.at(-1)).toEqual({
      ending: { kind: 'ended', outcome: { kind: 'completed' } },
      usage,
      firstEventMs: 11,
      durationMs: 12,
    });
  });

  it('rethrows the error of the turn', async () => {
    const watcher = recorder();
    const error = gatewayError('worker_unavailable');
    await expect(collect(tap(play([], error), [watcher], options()))).rejects.toBe(error);
    expect(watcher.calls).toEqual([
      'start',
      {
        ending: { kind: 'thrown', failure: failure('worker_unavailable') },
        usage: null,
        firstEventMs: null,
        durationMs: 11,
      },
    ]);
  });

  it('treats an error after a disconnect as the disconnect', async () => {
    const watcher = recorder();
    const given = options({ signal: AbortSignal.abort() });
    await expect(collect(tap(play([], new Error('aborted')), [watcher], given))).rejects.toThrow('aborted');
    expect(watcher.calls.at(-1)).toEqual({
      ending: { kind: 'abandoned' },
      usage: null,
      firstEventMs: null,
      durationMs: 11,
    });
  });

  it('does not report a turn that never started', async () => {
    const watcher = recorder();
    await tap(play(events), [watcher], options())[Symbol.asyncIterator]().return?.();
    expect(watcher.calls).toEqual([]);
  });
});

describe('turnMetrics', () => {
  it('counts running turns, and their tokens', async () => {
    const metrics = createMetrics();
    const tapped = tap(play(events), [turnMetrics(metrics)], options())[Symbol.asyncIterator]();
    await tapped.next();
    expect((await metrics.turnsActive.get()).values).toEqual([{ value: 1, labels: {} }]);
    await collect({ [Symbol.asyncIterator]: () => tapped });
    expect((await metrics.turnsActive.get()).values).toEqual([{ value: 0, labels: {} }]);
    expect((await metrics.tokens.get()).values).toEqual([
      { value: 10, labels: { kind: 'input' } },
      { value: 4, labels: { kind: 'cached_input' } },
      { value: 5, labels: { kind: 'output' } },
      { value: 2, labels: { kind: 'reasoning' } },
    ]);
    expect(await metrics.print()).toContain('proxy_first_event_seconds_sum 0.011\n');
  });
});
