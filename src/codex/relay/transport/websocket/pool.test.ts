import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { BackendSocket, SocketListener } from './backend-socket.ts';
import { DialError } from './dial.ts';
import { DialPacing } from './dial-pacing.ts';
import { SocketPool, type Lent, type SocketTarget, type SocketWish } from './pool.ts';

const MINUTE = 60_000;
const TARGET: SocketTarget = { url: 'http://host/responses', headers: { authorization: 'Bearer 1' } };
const RENEWED: SocketTarget = { ...TARGET, headers: { authorization: 'Bearer 2' } };
const WISH: SocketWish = { isFresh: false, insists: false, signal: new AbortController().signal };

interface FakeSocket {
  readonly name: string;
  readonly target: SocketTarget;
  isOpen: boolean;
  uses: number;
  openedAt: number;
  pings: number;
  listener: SocketListener;
  listen(listener: SocketListener): void;
  ping(): void;
  close(): void;
  /** Closed by the backend. */
  end(code: number): void;
}

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const clock = { now: () => Date.now() };

/** A pool whose dials succeed after 100 ms, unless told otherwise. */
const pooled = () => {
  const sockets: FakeSocket[] = [];
  const state = { outcome: '101' as string | number, counts: [0, 0], lent: [] as string[] };
  const pool = new SocketPool({
    clock,
    pacing: new DialPacing(clock),
    onChange: (idle, busy) => void (state.counts = [idle, busy]),
    onLent: (kind) => state.lent.push(kind),
    async dial(url, headers, listener) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      if (state.outcome !== '101')
        throw new DialError(typeof state.outcome === 'number' ? state.outcome : null, String(state.outcome));
      const socket: FakeSocket = {
        name: `s${sockets.length}`,
        target: { url, headers },
        isOpen: true,
        uses: 0,
        openedAt: Date.now(),
        pings: 0,
        listener,
        listen: (next) => void (socket.listener = next),
        ping: () => void (socket.pings += 1),
        close: () => void (socket.isOpen = false),
        end(code) {
          socket.isOpen = false;
          socket.listener.onClose(code);
        },
      };
      sockets.push(socket);
      return socket as unknown as BackendSocket;
    },
  });
  const lend = async (target = TARGET, wish: Partial<SocketWish> = {}): Promise<Lent> => {
    const lending = pool.lend(target, { ...WISH, ...wish });
    await vi.advanceTimersByTimeAsync(100);
    return lending;
  };
  const take = async (target = TARGET, wish: Partial<SocketWish> = {}): Promise<BackendSocket> => {
    const { socket } = await lend(target, wish);
    if (socket === null) throw new Error('no socket');
    return socket;
  };
  return { pool, sockets, state, lend, take };
};
const nameOf = (socket: BackendSocket): string => (socket as unknown as FakeSocket).name;

describe('lending', () => {
  it('dials for the first request, and one ahead for the next', async () => {
    const { sockets, state, take } = pooled();
    await take();
    await vi.advanceTimersByTimeAsync(1_200);
    expect(sockets.length).toBe(2);
    expect(state.counts).toEqual([1, 1]);
    expect(nameOf(await take())).toBe('s1');
    expect(state.lent).toEqual(['dialled', 'idle']);
  });

  it('takes the socket that was used last', async () => {
    const { pool, take } = pooled();
    const [first, second] = [await take(), await take()];
    pool.release(first, true);
    pool.release(second, true);
    expect(await take()).toBe(second);
  });

  it('does not lend one that failed, closed or is old', async () => {
    const { pool, sockets, take } = pooled();
    const [failed, closed, old] = [await take(), await take(), await take()];
    pool.release(failed, false);
    expect(sockets.find(({ name }) => name === nameOf(failed))?.isOpen).toBe(false);
    pool.release(old, true);
    pool.release(closed, true);
    (closed as unknown as FakeSocket).end(1006);
    (old as unknown as FakeSocket).openedAt = Date.now() - 55 * MINUTE;
    const next = await take();
    expect([failed, closed, old]).not.toContain(next);
  });

  it('gives a returned socket to a request that waits', async () => {
    const { pool, take } = pooled();
    const first = await take();
    const waiting = [pool.lend(TARGET, WISH), pool.lend(TARGET, WISH)];
    pool.release(first, true);
    expect(await waiting[0]).toEqual({ socket: first });
    await vi.advanceTimersByTimeAsync(100);
    expect(await waiting[1]).not.toEqual({ socket: first });
  });

  it('dials a fresh socket for a resend, though others are idle', async () => {
    const { pool, take } = pooled();
    const first = await take();
    pool.release(first, true);
    expect(await take(TARGET, { isFresh: true })).not.toBe(first);
  });

  it('opens no more than 48', async () => {
    const { pool, lend, sockets } = pooled();
    const all = Array.from({ length: 50 }, () => pool.lend(TARGET, WISH));
    await vi.advanceTimersByTimeAsync(100);
    const lent = await Promise.all(all);
    expect(lent.filter(({ socket }) => socket !== null).length).toBe(48);
    expect(lent.at(-1)).toEqual({ socket: null, why: 'pool-full', error: null });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sockets.length).toBe(48);
    expect(await lend()).toMatchObject({ why: 'pool-full' });
  });

  it('keeps no more than 16 idle', async () => {
    const { pool, state } = pooled();
    const all = Array.from({ length: 20 }, () => pool.lend(TARGET, WISH));
    await vi.advanceTimersByTimeAsync(100);
    for (const { socket } of await Promise.all(all)) if (socket !== null) pool.release(socket, true);
    expect(state.counts).toEqual([16, 0]);
  });

  it('forgets a request that is aborted while it waits', async () => {
    const { pool, state } = pooled();
    const left = new AbortController();
    const waiting = pool.lend(TARGET, { ...WISH, signal: left.signal });
    left.abort();
    expect(await waiting).toMatchObject({ socket: null });
    await vi.advanceTimersByTimeAsync(100);
    expect(state.counts).toEqual([1, 0]);
  });
});

describe('another login', () => {
  it('closes what is idle, lets the busy end, and never lends them again', async () => {
    const { pool, sockets, take } = pooled();
    const [busy, idle] = [await take(), await take()];
    pool.release(idle, true);
    const renewed = await take(RENEWED);
    expect((idle as unknown as FakeSocket).isOpen).toBe(false);
    expect((busy as unknown as FakeSocket).isOpen).toBe(true);
    pool.release(busy, true);
    expect((busy as unknown as FakeSocket).isOpen).toBe(false);
    expect((renewed as unknown as FakeSocket).target.headers).toEqual(RENEWED.headers);
    expect(sockets.filter(({ isOpen, target }) => isOpen && target.headers === TARGET.headers)).toEqual([]);
  });

  it('is not waited for with the sockets of the old one', async () => {
    const { pool, take } = pooled();
    const waiting = pool.lend(TARGET, WISH);
    const renewed = await take(RENEWED);
    expect(await waiting).toMatchObject({ socket: null, why: 'old-login' });
    expect((renewed as unknown as FakeSocket).target.headers).toEqual(RENEWED.headers);
  });

  it('leaves requests with the old one to POST', async () => {
    const { lend, take } = pooled();
    await take();
    await take(RENEWED);
    expect(await lend(TARGET)).toEqual({ socket: null, why: 'old-login', error: null });
  });
});

describe('a refused upgrade', () => {
  it('sends every waiting request another way, and none waits for the next dial', async () => {
    const { pool, state, lend } = pooled();
    state.outcome = 403;
    const all = Array.from({ length: 3 }, () => pool.lend(TARGET, WISH));
    await vi.advanceTimersByTimeAsync(100);
    for (const lent of await Promise.all(all))
      expect(lent).toMatchObject({ socket: null, why: 'upgrade-refused' });
    expect(await lend()).toEqual({ socket: null, why: 'dial-paused', error: null });
  });

  it('is tried again in the background, and then requests get sockets again', async () => {
    const { state, lend } = pooled();
    state.outcome = 503;
    await lend();
    state.outcome = '101';
    await vi.advanceTimersByTimeAsync(1_200);
    expect(state.counts).toEqual([1, 0]);
    expect(await lend()).not.toMatchObject({ socket: null });
  });

  it.each([1000, 1001, 1006, 1008, 1012])(
    'is not a spare that the backend closes unused with %i: the next request dials',
    async (code) => {
      const { pool, sockets, lend } = pooled();
      pool.warm(TARGET);
      await vi.advanceTimersByTimeAsync(100);
      sockets[0]?.end(code);
      expect(await lend()).toEqual({ socket: sockets[1] });
    },
  );

  it('with 401 says nothing about a renewed login, even if it comes after the renewal', async () => {
    const { pool, state, lend } = pooled();
    state.outcome = 401;
    await lend();
    const old = pool.lend(TARGET, { ...WISH, insists: true });
    await vi.advanceTimersByTimeAsync(50);
    const renewed = pool.lend(RENEWED, WISH);
    await vi.advanceTimersByTimeAsync(60);
    state.outcome = '101';
    await vi.advanceTimersByTimeAsync(100);
    expect(await old).toMatchObject({ socket: null });
    expect(await renewed).not.toMatchObject({ socket: null });
    expect(await lend(RENEWED)).not.toMatchObject({ socket: null });
  });

  it('is waited for if there is no other way', async () => {
    const { state, lend } = pooled();
    state.outcome = 403;
    await lend();
    expect(await lend(TARGET, { insists: true })).toMatchObject({ error: { status: 403 } });
  });
});

describe('idle sockets', () => {
  it('one is opened ahead for a login, and pinged', async () => {
    const { pool, sockets } = pooled();
    pool.warm(TARGET);
    await vi.advanceTimersByTimeAsync(26_000);
    expect(sockets.map(({ pings }) => pings)).toEqual([1]);
  });

  it('are dialled at most once per second if no request waits', async () => {
    const { pool, sockets } = pooled();
    pool.warm(TARGET);
    await vi.advanceTimersByTimeAsync(100);
    for (let second = 0; second < 3; second += 1) {
      const { socket } = await pool.lend(TARGET, WISH);
      expect(socket).not.toBe(null);
      await vi.advanceTimersByTimeAsync(second === 2 ? 500 : 1_100);
    }
    expect(sockets.length).toBe(3);
  });

  it('are dialled later if the backend closed the last one unused', async () => {
    const { pool, sockets } = pooled();
    pool.warm(TARGET);
    await vi.advanceTimersByTimeAsync(100);
    sockets[0]?.end(1000);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(sockets.length).toBe(1);
  });

  it('fall to one, and to none without requests for half an hour', async () => {
    const { pool, state, take } = pooled();
    const lent = [await take(), await take(), await take()];
    for (const socket of lent) pool.release(socket, true);
    await vi.advanceTimersByTimeAsync(7 * MINUTE);
    expect(state.counts).toEqual([1, 0]);
    await vi.advanceTimersByTimeAsync(25 * MINUTE);
    expect(state.counts).toEqual([0, 0]);
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    expect(state.counts).toEqual([0, 0]);
  });

  it('are replaced before the backend ends them', async () => {
    const { pool, sockets, take } = pooled();
    pool.release(await take(), true);
    for (let quarter = 0; quarter < 4; quarter += 1) {
      await vi.advanceTimersByTimeAsync(14 * MINUTE);
      pool.release(await take(), true);
    }
    const ages = sockets.filter(({ isOpen }) => isOpen).map(({ openedAt }) => Date.now() - openedAt);
    expect(ages.length).toBeGreaterThan(0);
    expect(Math.max(...ages)).toBeLessThan(55 * MINUTE);
    expect(sockets[0]?.isOpen).toBe(false);
  });

  it('are dropped if the backend says something unexpected', async () => {
    const { pool, sockets, take } = pooled();
    pool.release(await take(), true);
    const [socket] = sockets;
    socket?.listener.onText(Buffer.from('{"type":"codex.rate_limits"}'));
    expect(socket?.isOpen).toBe(true);
    socket?.listener.onText(Buffer.from('{"type":"error","error":{}}'));
    expect(socket?.isOpen).toBe(false);
  });

  it('are closed with the pool', async () => {
    const { pool, sockets, take } = pooled();
    const busy = await take();
    pool.release(await take(), true);
    pool.close();
    expect(sockets.map(({ isOpen }) => isOpen)).not.toContain(true);
    pool.release(busy, false);
    await vi.advanceTimersByTimeAsync(60 * MINUTE);
    expect(sockets.filter(({ isOpen }) => isOpen)).toEqual([]);
  });
});
