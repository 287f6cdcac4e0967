import { describe, expect, it } from 'vitest';

import { engineOn } from '../../../test/support/engine.ts';
import {
  CLOSED,
  fakePool,
  never,
  run,
  settled,
  type Behaviour,
  type FakeThread,
} from '../../../test/support/fake-pool.ts';
import { collect } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import { failure } from '../../canonical/failure/failure.ts';
import { UnreadTotal } from './unread-total.ts';

describe('a reader', () => {
  const hanging: Behaviour = (thread) => {
    thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
    thread.send('item/agentMessage/delta', { itemId: 'm', delta: 'wait' });
  };

  it('that leaves: the turn is interrupted and the worker given back', async () => {
    const fake = fakePool([hanging]);
    for await (const event of engineOn(fake.pool).plan(turnRequest(), turnContext()).run(never)) {
      if (event.type === 'item-delta') break;
    }
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it('that leaves when the turn ends by itself: codex may not answer the interrupt, which is not awaited', async () => {
    const forgotten = new Promise<void>(() => {});
    const fake = fakePool(
      [hanging],
      () => null,
      (method) => (method === 'turn/interrupt' ? forgotten : Promise.resolve()),
    );
    for await (const event of engineOn(fake.pool).plan(turnRequest(), turnContext()).run(never)) {
      if (event.type === 'item-delta') break;
    }
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it('whose client leaves while the model is silent: the same, at once', async () => {
    const fake = fakePool([() => {}]);
    const controller = new AbortController();
    const reason = new Error('gone');
    const reading = collect(engineOn(fake.pool).plan(turnRequest(), turnContext()).run(controller.signal));
    while (!fake.calls.includes('turn/start')) await settled();
    controller.abort(reason);
    await expect(reading).rejects.toBe(reason);
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it.each([
    ['thread/start', ['thread/start', 'thread/unsubscribe']],
    ['thread/inject_items', ['thread/start', 'thread/inject_items', 'thread/unsubscribe']],
    [
      'turn/start',
      // At once, and when it is known which turn is to be interrupted.
      ['thread/start', 'thread/inject_items', 'turn/start', 'thread/unsubscribe', ...CLOSED],
    ],
  ])('whose client leaves during %s: the thread is closed as soon as possible', async (held, calls) => {
    const limiter = Promise.withResolvers<void>();
    const fake = fakePool(
      [hanging],
      () => null,
      (method) => (method === held ? limiter.promise : Promise.resolve()),
    );
    const controller = new AbortController();
    const reading = collect(engineOn(fake.pool).plan(turnRequest(), turnContext()).run(controller.signal));
    while (!fake.calls.includes(held)) await settled();
    controller.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    limiter.resolve();
    await settled();
    await settled();
    expect([fake.calls, fake.openLeases()]).toEqual([calls, 0]);
  });

  it('whose client has left before the start: no worker is leased', async () => {
    const fake = fakePool([hanging]);
    const reading = collect(
      engineOn(fake.pool)
        .plan(turnRequest(), turnContext())
        .run(AbortSignal.abort(new Error('gone'))),
    );
    await expect(reading).rejects.toThrow('gone');
    expect([fake.calls, fake.openLeases()]).toEqual([[], 0]);
  });

  it('that does not read while the model writes without end: the turn ends at the limit of an answer', async () => {
    const fake = fakePool([
      (thread) => {
        thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
        const delta = 'x'.repeat(64 * 1024);
        for (let count = 0; count < 800; count += 1) {
          thread.send('item/agentMessage/delta', { itemId: 'm', delta });
        }
      },
    ]);
    // A reader that comes late gets all of it.
    const events = await run(fake);
    expect(events.filter(({ type }) => type === 'item-delta').length).toBeGreaterThan(500);
    expect(events.at(-1)).toMatchObject({ outcome: { failure: { kind: 'answer_too_large' } } });
    await settled();
    expect([fake.calls.slice(-2), fake.openLeases()]).toEqual([CLOSED, 0]);
  });

  it('that is the slowest when too much is unread in total: only its turn is given up', async () => {
    const writes = (thread: FakeThread): void => {
      thread.send('item/started', { item: { type: 'agentMessage', id: 'm', phase: null } });
      const delta = 'x'.repeat(64 * 1024);
      for (let count = 0; count < 12; count += 1)
        thread.send('item/agentMessage/delta', { itemId: 'm', delta });
    };
    const fake = fakePool([writes, writes]);
    const engine = engineOn(fake.pool, {
      unread: new UnreadTotal({ maxBytes: 1024 * 1024, onChange() {} }),
    });
    const begin = async () => {
      const reader = engine.plan(turnRequest(), turnContext()).run(never)[Symbol.asyncIterator]();
      await reader.next();
      return reader;
    };
    const slow = await begin();
    const other = await begin();
    await other.next();
    await slow.next();
    await expect(slow.next()).rejects.toThrow(failure('client_too_slow').message);
    expect((await other.next()).value).toMatchObject({ type: 'item-delta' });
    await settled();
    expect(fake.openLeases()).toBe(1);
    await other.return?.();
    await settled();
    expect(fake.openLeases()).toBe(0);
  });

  it('does not delay onSettled', async () => {
    const fake = fakePool([(thread) => thread.answer('a', 'b')]);
    let isSettled = false;
    const turn = engineOn(fake.pool)
      .plan(turnRequest(), turnContext())
      .run(never, () => {
        isSettled = true;
      });
    const reader = turn[Symbol.asyncIterator]();
    await reader.next();
    await settled();
    expect(isSettled).toBe(true);
    await reader.return?.();
  });
});
