import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { GatewayError } from '../../canonical/failure/failure.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import type { ConversationRow, ConversationStore } from './store/port.ts';
import { ConversationLocks, type ConversationLock } from './conversation-locks.ts';

const ROW: ConversationRow = { id: 'conv_1', createdAt: 0, body: '', tip: -1, cacheKey: 'conv_1' };
const LOCKED = {
  kind: 'conversation_locked',
  status: 400,
  param: 'conversation',
  message: 'Another process is currently operating on this conversation. Please retry in a few seconds.',
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One conversation with a lease, as a database keeps it. */
class LeaseStore implements Pick<ConversationStore, 'lock' | 'unlock'> {
  holder: string | null = null;
  until = 0;
  isThere = true;
  isDown = false;

  async lock(_: string, id: string, { holder, until }: { holder: string; until: number }) {
    if (this.isDown) throw new Error('no database');
    if (!this.isThere || id !== ROW.id) return null;
    if (this.holder !== null && this.holder !== holder && this.until > Date.now()) return false;
    this.holder = holder;
    this.until = until;
    return ROW;
  }

  async unlock(_: string, __: string, holder: string) {
    if (this.isDown) throw new Error('no database');
    if (this.holder === holder) this.holder = null;
  }
}

const open = (store: LeaseStore, waitMs = 10_000) => {
  const errors: unknown[] = [];
  const locks = new ConversationLocks({
    store: { conversations: store as unknown as ConversationStore },
    ambient: systemAmbient,
    waitMs,
    onError: (error) => void errors.push(error),
  });
  const take = (signal = new AbortController().signal, id = ROW.id): Promise<ConversationLock> =>
    locks.take(id, { caller: 'key', signal });
  return { take, errors };
};

const failureOf = (taking: Promise<unknown>) =>
  taking.then(
    () => null,
    (error: GatewayError) => error.failure ?? error,
  );

describe('the lock of a conversation', () => {
  it('is given to writers in the order of their arrival', async () => {
    const store = new LeaseStore();
    const { take } = open(store);
    const first = await take();
    const order: number[] = [];
    const others = [1, 2, 3].map(async (index) => {
      const lock = await take();
      order.push(index);
      lock.release();
    });
    await vi.advanceTimersByTimeAsync(1_000);
    expect([first.row, order]).toEqual([ROW, []]);
    first.release();
    first.release();
    await Promise.all(others);
    await vi.advanceTimersByTimeAsync(0);
    expect([order, store.holder, vi.getTimerCount()]).toEqual([[1, 2, 3], null, 0]);
  });

  it('is refused when the wait is over, in this process', async () => {
    const { take } = open(new LeaseStore());
    await take();
    const refused = failureOf(take());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await refused).toMatchObject(LOCKED);
  });

  it('is refused at once when too many wait', async () => {
    const { take } = open(new LeaseStore());
    await take();
    const waiting = Array.from({ length: 200 }, () => failureOf(take()));
    expect(await failureOf(take())).toMatchObject(LOCKED);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await Promise.all(waiting)).toHaveLength(200);
  });

  it('is waited for while another process has it, and refused when that takes too long', async () => {
    const store = new LeaseStore();
    const [one, other] = [open(store), open(store, 2_000)];
    const lock = await one.take();
    const refused = failureOf(other.take());
    await vi.advanceTimersByTimeAsync(2_250);
    expect(await refused).toMatchObject(LOCKED);
    const waiting = other.take();
    await vi.advanceTimersByTimeAsync(1_000);
    lock.release();
    await vi.advanceTimersByTimeAsync(250);
    expect((await waiting).row).toBe(ROW);
  });

  it('is renewed as long as it is held, and free some seconds after its process died', async () => {
    const store = new LeaseStore();
    const [one, other] = [open(store), open(store, 60_000)];
    const lock = await one.take();
    await vi.advanceTimersByTimeAsync(60_000);
    const { holder } = store;
    expect(store.until - Date.now()).toBeGreaterThanOrEqual(7_000);
    const waiting = other.take();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(store.holder).toBe(holder);
    // A process that died renews nothing.
    store.lock = async (_, __, { holder: by, until }) => {
      if (by === holder || store.until > Date.now()) return false;
      store.holder = by;
      store.until = until;
      return ROW;
    };
    await vi.advanceTimersByTimeAsync(10_250);
    await waiting;
    expect(store.holder).not.toBe(holder);
    // The late release of the first one does not take it from the second.
    const second = store.holder;
    lock.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(store.holder).toBe(second);
  });

  it('is not waited for after the client has left', async () => {
    const store = new LeaseStore();
    const [one, other] = [open(store), open(store)];
    const lock = await one.take();
    const left = new AbortController();
    const queued = failureOf(one.take(left.signal));
    const polling = failureOf(other.take(left.signal));
    await vi.advanceTimersByTimeAsync(100);
    left.abort(new Error('left'));
    expect([await queued, await polling]).toEqual([new Error('left'), new Error('left')]);
    lock.release();
    await vi.advanceTimersByTimeAsync(0);
    expect((await other.take()).row).toBe(ROW);
  });

  it('is given back if the client leaves while it is taken', async () => {
    const store = new LeaseStore();
    const { take } = open(store);
    const left = new AbortController();
    const taking = failureOf(take(left.signal));
    await Promise.resolve();
    left.abort(new Error('left'));
    expect(await taking).toEqual(new Error('left'));
    await vi.advanceTimersByTimeAsync(0);
    expect([store.holder, (await take()).row]).toEqual([null, ROW]);
  });

  it('does not exist for an unknown conversation', async () => {
    const { take } = open(new LeaseStore());
    expect(await failureOf(take(undefined, 'conv_2'))).toMatchObject({
      kind: 'unknown_conversation',
      status: 404,
      param: null,
      message: "Conversation with id 'conv_2' not found.",
    });
    // Another one is not in the way.
    expect((await take()).row).toBe(ROW);
  });

  it('survives a database that is gone for a while', async () => {
    const store = new LeaseStore();
    const { take, errors } = open(store);
    const lock = await take();
    store.isDown = true;
    await vi.advanceTimersByTimeAsync(6_000);
    expect(errors).toHaveLength(2);
    lock.release();
    await vi.advanceTimersByTimeAsync(0);
    expect(errors).toHaveLength(3);
    expect(await failureOf(take())).toEqual(new Error('no database'));
    store.isDown = false;
    const waiting = take();
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await waiting).row).toBe(ROW);
  });
});
