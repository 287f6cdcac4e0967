import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fixedAmbient } from '../../test/support/turn-events.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { failure } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { Engine } from './engine.ts';
import { limitTime } from './limit-time.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const accepted: TurnEvent = { type: 'turn-accepted', ignored: [], limitsOutput: false, headers: {} };
const started: TurnEvent = {
  type: 'item-started',
  item: { kind: 'message', id: 'm', role: 'assistant', parts: [] },
};
const said: TurnEvent = { type: 'item-delta', itemId: 'm', at: 'text', delta: 'a' };
const done: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
};
const late: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failure('turn_timeout') },
  usage: null,
  at: 1_800_000_000_000,
};

/** Says these, and then nothing until it is aborted. */
const engineOf = (...events: readonly TurnEvent[]): Engine => ({
  unheard: () => ['x'],
  async *run(_, signal) {
    yield* events;
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    signal.throwIfAborted();
  },
});

const { clock } = fixedAmbient();

const run = (engine: Engine, signal = new AbortController().signal) => {
  const events: TurnEvent[] = [];
  const ended = (async () => {
    for await (const event of limitTime(engine, 1_000, clock).run(turnRequest(), signal)) events.push(event);
  })();
  ended.catch(() => {});
  return { events, ended };
};

describe('limitTime', () => {
  it('ends a turn that has said nothing', async () => {
    const { events, ended } = run(engineOf());
    await vi.advanceTimersByTimeAsync(999);
    expect(events).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(events).toEqual([late]);
  });

  it('ends one in its middle, with what is open', async () => {
    const { events, ended } = run(engineOf(accepted, started, said));
    await vi.advanceTimersByTimeAsync(1_000);
    await ended;
    expect(events).toEqual([
      accepted,
      started,
      said,
      {
        type: 'item-ended',
        item: {
          kind: 'message',
          id: 'm',
          role: 'assistant',
          parts: [{ kind: 'text', text: 'a' }],
          status: 'incomplete',
        },
      },
      late,
    ]);
  });

  it('lets those alone that end in time', async () => {
    const { events, ended } = run(engineOf(accepted, done));
    await vi.advanceTimersByTimeAsync(1_000);
    await ended;
    expect(events).toEqual([accepted, done]);
  });

  it('is no reason where the client went', async () => {
    const gone = new AbortController();
    const { events, ended } = run(engineOf(accepted), gone.signal);
    await vi.advanceTimersByTimeAsync(10);
    gone.abort(new Error('gone'));
    await expect(ended).rejects.toThrow('gone');
    expect([events, vi.getTimerCount()]).toEqual([[accepted], 0]);
  });

  it('passes on what goes wrong otherwise', async () => {
    const broken: Engine = {
      unheard: () => [],
      async *run() {
        yield accepted;
        throw new Error('broken');
      },
    };
    const { events, ended } = run(broken);
    await expect(ended).rejects.toThrow('broken');
    expect(events).toEqual([accepted]);
  });

  it('of nothing is no limit', () => {
    const engine = engineOf();
    expect(limitTime(engine, 0, clock)).toBe(engine);
    expect(limitTime(engine, 1, clock).unheard(turnRequest())).toEqual(['x']);
  });
});
