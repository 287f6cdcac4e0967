import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it, vi } from 'vitest';

import {
  COMPLETE,
  completedTurn,
  fakeRelay,
  fakeWorker,
  GIVEN_UP,
} from '../../../../test/support/carriers.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { SHAPE } from '../../../../test/support/edited.ts';
import { turnOf } from '../../../../test/support/turn-request.ts';
import type { ThreadSignal } from '../../../codex/app-server.ts';
import type { RelayTurnParams } from '../../../codex/relay/server/relay-turn.ts';
import type { Usage } from '../../../canonical/events/usage.ts';
import { startTurn } from '../../attempt/app-server-turn.ts';
import { Carrier, freshThread, isReusable, type CarrierThread } from './carrier.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

afterEach(() => {
  vi.useRealTimers();
});

const world = () => {
  const worker = fakeWorker();
  const relay = fakeRelay();
  const { appServer } = worker;
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const continuing = {
    works: true,
    stopped: 0,
    onStopped() {
      continuing.stopped += 1;
    },
  };
  const start = (thread: CarrierThread | null = null, prepare = (): void => {}): Promise<Carrier> =>
    Carrier.start({
      appServer,
      relay,
      clock,
      continuing,
      thread,
      slug: 'gpt-5.5',
      placeholder: 'px_1',
      startThread: async () => (await appServer.request('thread/start', {})).thread.id,
      prepare: async (threadId) => {
        prepare();
        await appServer.request('thread/inject_items', { threadId, items: [] });
      },
      startTurn: (threadId) => startTurn(appServer, { threadId, input: [] }),
    });
  /** What was done with the only turn in the relay. */
  const done = (): readonly string[] => relay.turns[0]?.done ?? [];
  return { worker, relay, clock, continuing, start, done };
};

const params: RelayTurnParams = {
  ...turnOf({ keyId: 'one' }),
  session: 'session',
  shape: SHAPE,
  onUpstreamEvent() {},
  onActivity() {},
};
const ignore = (): void => {};
const notified = (method: string): ThreadSignal => ({ kind: 'notification', method, params: {} });
const INTERRUPTED = ['turn/interrupt', { threadId: 'thread-1', turnId: 'turn-1' }];
const UNSUBSCRIBED = ['thread/unsubscribe', { threadId: 'thread-1' }];

describe('a carrier', () => {
  it('is a turn in a new thread, whose model request the relay expects before it can be sent', async () => {
    const { worker, relay, start } = world();
    const expectedAt: number[] = [];
    worker.beforeAnswer = async () => void expectedAt.push(relay.turns.length);
    const carrier = await start();
    expect(worker.calls).toEqual([
      ['thread/start', {}],
      ['thread/inject_items', { threadId: 'thread-1', items: [] }],
      ['turn/start', { threadId: 'thread-1', input: [] }],
    ]);
    expect(expectedAt).toEqual([0, 1, 1]);
    expect(relay.turns).toEqual([
      {
        expected: {
          threadId: 'thread-1',
          slug: 'gpt-5.5',
          placeholder: 'px_1',
          isFirstOfThread: true,
          onLost: expect.any(Function) as unknown,
        },
        done: ['started turn-1'],
        claims: [],
        expiresAtMs: null,
        answerBytes: 0,
        isReady: true,
        wasAsked: true,
        letsGo: false,
      },
    ]);
    const { thread, turnId, placeholder, running, isUsable } = carrier;
    expect({ thread, turnId, placeholder, running, isUsable }).toEqual({
      thread: { threadId: 'thread-1', slug: 'gpt-5.5', caller: null, turns: 1, answerBytes: 0 },
      turnId: 'turn-1',
      placeholder: 'px_1',
      running: { threadId: 'thread-1', turnId: 'turn-1' },
      isUsable: true,
    });
    expect(worker.watched()).toEqual(['thread-1']);
  });

  it('may be another turn of a thread', async () => {
    const { worker, relay, start } = world();
    const thread = { ...freshThread('thread-7', 'gpt-5.5'), caller: 'one', turns: 3, answerBytes: 9 };
    const carrier = await start(thread);
    expect(worker.calls.map(([method]) => method)).toEqual(['thread/inject_items', 'turn/start']);
    expect(relay.turns[0]?.expected).toMatchObject({ threadId: 'thread-7', isFirstOfThread: false });
    expect(carrier.thread).toBe(thread);
    expect(thread).toMatchObject({ turns: 4, answerBytes: 9 });
  });

  it('does not exist without a thread', async () => {
    const { worker, relay, start } = world();
    worker.beforeAnswer = () => Promise.reject(new Error('no thread'));
    await expect(start()).rejects.toThrow('no thread');
    expect([relay.turns, worker.calls]).toEqual([[], [['thread/start', {}]]]);
  });

  it.each(['thread/inject_items', 'turn/start'])('closes its thread if %s fails', async (failing) => {
    const { worker, start, done } = world();
    worker.beforeAnswer = async (method) => {
      if (method === failing) throw new Error(method);
    };
    await expect(start()).rejects.toThrow(failing);
    expect(worker.calls.at(-1)).toEqual(UNSUBSCRIBED);
    expect(worker.threadsOf('turn/interrupt')).toEqual([]);
    expect([done(), worker.watched()]).toEqual([['refused'], []]);
  });

  it('has nothing to close if the worker exits meanwhile', async () => {
    const { worker, start, done } = world();
    worker.beforeAnswer = async (method) => {
      if (method !== 'turn/start') return;
      worker.exit();
      throw new Error('exited');
    };
    await expect(start()).rejects.toThrow('exited');
    expect([worker.calls.at(-1)?.[0], done()]).toEqual(['turn/start', ['refused']]);
  });

  it('knows when the credentials of its model request expire', async () => {
    const { relay, start } = world();
    const carrier = await start();
    expect(carrier.expiresAtMs).toBeNull();
    Object.assign(relay.turns[0] ?? {}, { expiresAtMs: 5 });
    expect(carrier.expiresAtMs).toBe(5);
  });

  it('does not keep what only its start needs: a request may have started it, and it lives for others', async () => {
    const { start } = world();
    const begin = async () => {
      const needed = { turnOf: 'a client' };
      return { carrier: await start(null, () => void needed.turnOf), needed: new WeakRef(needed) };
    };
    const { carrier, needed } = await begin();
    await settled();
    collectGarbage();
    expect([carrier.isUsable, needed.deref()]).toEqual([true, undefined]);
  });

  it('lets no further model request through', async () => {
    const { start, done } = world();
    (await start()).refuseFurtherRequests();
    expect(done()).toEqual(['started turn-1', 'refused']);
  });
});

type World = ReturnType<typeof world>;
const ends: readonly (readonly [string, boolean, (one: World) => void])[] = [
  ['codex completes the turn', false, ({ worker }) => worker.complete('thread-1')],
  ['codex fails the turn', false, ({ worker }) => worker.complete('thread-1', 'failed')],
  ['the worker exits', false, ({ worker }) => worker.exit()],
  // codex still runs it, so it must be interrupted.
  ['codex sends another model request', true, ({ relay }) => relay.turns[0]?.expected.onLost()],
];

describe('a carrier that is over', () => {
  it.each(ends)('tells so, once: %s', async (_, isRunning, end) => {
    const one = world();
    const carrier = await one.start();
    const over = vi.fn<() => void>();
    carrier.whenOver(over);
    await settled();
    expect([carrier.isUsable, over.mock.calls.length]).toEqual([true, 0]);
    end(one);
    end(one);
    await settled();
    expect([carrier.isUsable, carrier.running !== null]).toEqual([false, isRunning]);
    expect(over).toHaveBeenCalledOnce();
    // A late listener knows, too.
    carrier.whenOver(over);
    await settled();
    expect(over).toHaveBeenCalledTimes(2);
  });

  it('is over before it has started if codex does something else', async () => {
    const { worker, relay, start } = world();
    worker.beforeAnswer = async (method) => {
      if (method === 'turn/start') relay.turns[0]?.expected.onLost();
    };
    const carrier = await start();
    expect([carrier.isUsable, await carrier.end(COMPLETE)]).toEqual([false, null]);
    expect(worker.calls.slice(-2)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
  });

  it('is not over after another signal', async () => {
    const { worker, start } = world();
    const carrier = await start();
    worker.send('thread-1', notified('turn/started'));
    worker.send('thread-1', { kind: 'tool-call', params: {}, respond: ignore });
    expect(carrier.isUsable).toBe(true);
  });
});

describe('a claimed carrier', () => {
  it('gives the request to the relay, and the signals to its reader, the early ones first', async () => {
    const { worker, relay, start, done } = world();
    const carrier = await start();
    worker.send('thread-1', notified('early'));
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    expect(signals).toEqual([notified('early')]);
    worker.complete('thread-1');
    expect(signals).toEqual([notified('early'), completedTurn()]);
    expect([relay.turns[0]?.claims, done(), carrier.thread.caller]).toEqual([
      [params],
      ['started turn-1', 'claimed'],
      'one',
    ]);
  });

  it('has kept 64 early signals at most', async () => {
    const { worker, start } = world();
    const carrier = await start();
    for (let nth = 0; nth < 70; nth += 1) worker.send('thread-1', notified(`n${nth}`));
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    expect(signals).toHaveLength(64);
    worker.send('thread-1', notified('last'));
    expect([signals[63], signals[64]]).toEqual([notified('n63'), notified('last')]);
  });

  it('is like one without a worker if codex does something else', async () => {
    const { relay, start } = world();
    const carrier = await start();
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    relay.turns[0]?.expected.onLost();
    expect(signals).toEqual([{ kind: 'closed' }]);
  });
});

describe('the end of a carrier', () => {
  it('leaves the thread for another turn when codex has completed this one', async () => {
    const { worker, relay, start, done } = world();
    const carrier = await start();
    carrier.claim(params, ignore);
    const [turn] = relay.turns;
    const ended = carrier.end(COMPLETE);
    // The rest of the answer is still on its way to codex.
    await settled();
    expect(done()).toEqual(['started turn-1', 'claimed', 'refused']);
    if (turn !== undefined) turn.answerBytes = 70;
    worker.complete('thread-1');
    expect(await ended).toBe(carrier.thread);
    expect(carrier.thread).toEqual({
      threadId: 'thread-1',
      slug: 'gpt-5.5',
      caller: 'one',
      turns: 1,
      answerBytes: 70,
    });
    expect(done()).toEqual(['started turn-1', 'claimed', 'refused', 'closed']);
    expect([worker.watched(), worker.calls.length]).toEqual([[], 3]);
  });

  it('does not wait if codex has completed it already', async () => {
    const { worker, start } = world();
    const carrier = await start();
    worker.complete('thread-1');
    expect(await carrier.end(COMPLETE)).toBe(carrier.thread);
  });

  it.each<[string, Partial<CarrierThread>, object]>([
    ['it has carried 16 turns', { turns: 15 }, {}],
    ['its answers are long', { answerBytes: 1024 * 1024 - 50 }, {}],
    ['its usage is not known', {}, { usage: null }],
  ])('closes the thread: %s', async (_, different, how) => {
    const { worker, relay, start } = world();
    const carrier = await start({ ...freshThread('thread-1', 'gpt-5.5'), ...different });
    carrier.claim(params, ignore);
    Object.assign(relay.turns[0] ?? {}, { answerBytes: 50 });
    worker.complete('thread-1');
    expect(await carrier.end({ ...COMPLETE, ...how })).toBeNull();
    // Nothing runs any more.
    expect(worker.calls.slice(2)).toEqual([UNSUBSCRIBED]);
  });

  it('interrupts the turn at once if it is given up, and closes the thread', async () => {
    const { worker, start, done } = world();
    const carrier = await start();
    carrier.claim(params, ignore);
    expect(await carrier.end(GIVEN_UP)).toBeNull();
    expect(worker.calls.slice(3)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
    expect([done(), worker.watched()]).toEqual([['started turn-1', 'claimed', 'refused', 'closed'], []]);
  });

  it('has nothing to close in the relay if it was not claimed', async () => {
    const { worker, start, done } = world();
    expect(await (await start()).end(GIVEN_UP)).toBeNull();
    expect([done(), worker.calls.slice(3)]).toEqual([
      ['started turn-1', 'refused'],
      [INTERRUPTED, UNSUBSCRIBED],
    ]);
  });

  it('waits for codex 10 seconds at most', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { worker, start } = world();
    const ended = (await start()).end(COMPLETE);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(worker.calls).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(await ended).toBeNull();
    expect(worker.calls.slice(3)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
  });

  it.each([
    ['codex fails the turn', [UNSUBSCRIBED]],
    ['the worker exits', []],
    ['codex sends another model request', [INTERRUPTED, UNSUBSCRIBED]],
  ])('closes what is left if it was not completed: %s', async (name, expected) => {
    const one = world();
    const ended = (await one.start()).end(COMPLETE);
    ends.find(([which]) => which === name)?.[2](one);
    expect(await ended).toBeNull();
    expect(one.worker.calls.slice(3)).toEqual(expected);
  });
});

describe('a carrier that is let go', () => {
  const claimed = async (one: ReturnType<typeof world>, signals: ThreadSignal[] = []) => {
    const carrier = await one.start();
    carrier.claim(params, (signal) => signals.push(signal));
    Object.assign(one.relay.turns[0] ?? {}, { letsGo: true });
    return carrier;
  };

  it('carries another request, whose signals are its own', async () => {
    const one = world();
    const signals: ThreadSignal[] = [];
    const carrier = await claimed(one, signals);
    expect(carrier.letGo()).toBe(true);
    const [turn] = one.relay.turns;
    Object.assign(turn ?? {}, { wasAsked: false });
    one.worker.send('thread-1', notified('of the first'));
    const next: ThreadSignal[] = [];
    carrier.claim(params, (signal) => next.push(signal));
    one.worker.send('thread-1', notified('still of the first'));
    Object.assign(turn ?? {}, { wasAsked: true });
    one.worker.send('thread-1', notified('of the second'));
    expect([signals, next]).toEqual([[], [notified('of the second')]]);
    expect(one.done()).toEqual(['started turn-1', 'claimed', 'let go: asks-again', 'claimed']);
    expect([carrier.thread.turns, one.worker.calls.length]).toEqual([1, 3]);
  });

  it('keeps nothing of its request, even if it was not asked for', async () => {
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    Object.assign(one.relay.turns[0] ?? {}, { isReady: false, wasAsked: false });
    const claim = () => {
      const needed = { turnOf: 'a client' };
      carrier.claim(params, () => void needed.turnOf);
      return new WeakRef(needed);
    };
    const needed = claim();
    expect(carrier.letGo()).toBe(true);
    await settled();
    collectGarbage();
    expect(needed.deref()).toBeUndefined();
  });

  it('must be ended if the app-server has to act on the answer', async () => {
    const one = world();
    const carrier = await one.start();
    carrier.claim(params, ignore);
    expect(carrier.letGo()).toBe(false);
    expect(await carrier.end(GIVEN_UP)).toBeNull();
    expect(one.worker.calls.slice(3)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
  });

  it.each<[string, (one: ReturnType<typeof world>) => void]>([
    ['it is 15 minutes old', ({ clock }) => void (clock.nowMs = 15 * 60_000)],
    ['its app-server does not ask again', ({ continuing }) => void (continuing.works = false)],
  ])('completes, and leaves its thread: %s', async (_, change) => {
    const one = world();
    const carrier = await claimed(one);
    change(one);
    expect(carrier.letGo()).toBe(false);
    const ended = carrier.end(GIVEN_UP);
    one.worker.complete('thread-1');
    expect(await ended).toBe(carrier.thread);
    expect(one.done().slice(2)).toEqual(['let go: completes', 'refused', 'closed']);
    expect(one.worker.calls).toHaveLength(3);
  });

  it('carries 256 requests', async () => {
    const one = world();
    const carrier = await claimed(one);
    let carried = 1;
    for (; carried < 1_000 && carrier.letGo(); carried += 1) carrier.claim(params, ignore);
    expect(carried).toBe(256);
    expect(one.done().at(-1)).toBe('let go: completes');
  });

  it('is for another request if it was not claimed, unless it is over', async () => {
    const one = world();
    const carrier = await one.start();
    expect(carrier.letGo()).toBe(true);
    one.worker.complete('thread-1', 'failed');
    expect(carrier.letGo()).toBe(false);
  });

  it.each<[string, boolean]>([
    ['also if its request was cancelled', true],
    ['also unclaimed', false],
  ])('is not used if the app-server does not ask within 30 seconds, %s', async (_, isClaimed) => {
    const one = world();
    const carrier = await claimed(one);
    const [turn] = one.relay.turns;
    one.clock.nowMs = 60_000;
    expect(carrier.letGo()).toBe(true);
    Object.assign(turn ?? {}, { isReady: false, wasAsked: false });
    if (isClaimed) carrier.claim(params, ignore);
    one.clock.nowMs += 29_999;
    expect([carrier.isUsable, carrier.letGo()]).toEqual([true, true]);
    if (isClaimed) carrier.claim(params, ignore);
    one.clock.nowMs += 1;
    expect([carrier.isUsable, carrier.letGo()]).toEqual([false, false]);
    expect(await carrier.end(GIVEN_UP)).toBeNull();
    expect(one.worker.calls.slice(3)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
  });

  it('is like one without a worker if the app-server does not ask for the next request in 30 seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    Object.assign(one.relay.turns[0] ?? {}, { isReady: false, wasAsked: false });
    one.clock.nowMs += 4_000;
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    await vi.advanceTimersByTimeAsync(25_999);
    expect([signals, carrier.isUsable]).toEqual([[], true]);
    await vi.advanceTimersByTimeAsync(1);
    expect([signals, carrier.isUsable, carrier.letGo()]).toEqual([[{ kind: 'closed' }], false, false]);
    // Nothing is sent for a request that another turn carries by now.
    expect(one.done().slice(3)).toEqual(['claimed', 'refused']);
    expect([await carrier.end(GIVEN_UP), one.continuing.works]).toEqual([null, true]);
    expect(one.worker.calls.slice(3)).toEqual([INTERRUPTED, UNSUBSCRIBED]);
  });

  it.each<[string, boolean, (turn: object | undefined, carrier: Carrier) => unknown]>([
    ['the app-server has asked before', true, () => {}],
    ['the app-server asks in time', false, (turn) => Object.assign(turn ?? {}, { wasAsked: true })],
    ['the request is cancelled', false, (_, carrier) => carrier.letGo()],
    ['the turn is ended', false, (_, carrier) => carrier.end(GIVEN_UP)],
  ])('does not end later if %s', async (_, isReady, happens) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    const [turn] = one.relay.turns;
    Object.assign(turn ?? {}, { isReady, wasAsked: false });
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    await happens(turn, carrier);
    await vi.advanceTimersByTimeAsync(60_000);
    expect([signals, vi.getTimerCount()]).toEqual([[], 0]);
  });

  it('is like one without a worker if the app-server fails it before it has asked', async () => {
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    Object.assign(one.relay.turns[0] ?? {}, { wasAsked: false });
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    one.worker.complete('thread-1', 'failed');
    await settled();
    expect([signals, one.continuing.works]).toEqual([[{ kind: 'closed' }], true]);
  });

  it('is like one without a worker if the app-server completes it instead, and no other is tried', async () => {
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    Object.assign(one.relay.turns[0] ?? {}, { wasAsked: false });
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    // Another one, which was continued at the same time.
    const other = await one.start();
    other.claim(params, ignore);
    Object.assign(one.relay.turns[1] ?? {}, { letsGo: true });
    other.letGo();
    one.worker.complete('thread-1');
    one.worker.complete('thread-2');
    await settled();
    expect([signals, one.continuing]).toMatchObject([[{ kind: 'closed' }], { works: false, stopped: 1 }]);
    const third = await one.start();
    third.claim(params, ignore);
    Object.assign(one.relay.turns[2] ?? {}, { letsGo: true });
    expect(third.letGo()).toBe(false);
    expect(one.relay.turns[2]?.done.at(-1)).toBe('let go: completes');
  });

  it('has failed like any other if the app-server fails it after it has asked', async () => {
    const one = world();
    const carrier = await claimed(one);
    carrier.letGo();
    const signals: ThreadSignal[] = [];
    carrier.claim(params, (signal) => signals.push(signal));
    one.worker.complete('thread-1');
    await settled();
    expect([signals, one.continuing.works]).toEqual([[completedTurn()], true]);
  });
});

describe('a thread that carries turns', () => {
  it('belongs to no one at first', () => {
    expect(freshThread('thread-1', 'gpt-5.5')).toEqual({
      threadId: 'thread-1',
      slug: 'gpt-5.5',
      caller: null,
      turns: 0,
      answerBytes: 0,
    });
  });

  const after = (thread: Partial<CarrierThread>, usage: Partial<Usage> | null = {}): boolean =>
    isReusable(
      { ...freshThread('thread-1', 'gpt-5.5'), turns: 1, ...thread },
      {
        isComplete: true,
        usage: usage === null || COMPLETE.usage === null ? null : { ...COMPLETE.usage, ...usage },
      },
    );

  it.each<[string, Partial<CarrierThread>, Partial<Usage>]>([
    ['the first turn', {}, {}],
    ['15 turns', { turns: 15 }, {}],
    ['answers of almost 1 MB', { answerBytes: 1024 * 1024 - 1 }, {}],
    ['almost 10 million tokens', {}, { inputTokens: 9_999_990, outputTokens: 9, totalTokens: 9_999_999 }],
  ])('carries another one after %s', (_, thread, usage) => {
    expect(after(thread, usage)).toBe(true);
  });

  it.each<[string, Partial<CarrierThread>, Partial<Usage> | null]>([
    ['16 turns', { turns: 16 }, {}],
    ['answers of 1 MB', { answerBytes: 1024 * 1024 }, {}],
    ['unknown usage', {}, null],
    ['10 million input tokens', {}, { inputTokens: 10_000_000, outputTokens: 0 }],
    ['10 million output tokens', {}, { inputTokens: 0, outputTokens: 10_000_000 }],
    ['10 million tokens of both', {}, { inputTokens: 5_000_000, outputTokens: 5_000_000 }],
    ['10 million tokens in total', {}, { totalTokens: 10_000_000 }],
  ])('carries no other one after %s', (_, thread, usage) => {
    expect(after(thread, usage)).toBe(false);
  });
});
