import { describe, expect, it } from 'vitest';

import { GIVEN_UP } from '../../../../test/support/carriers.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { MINUTE, preStarting, tell } from '../../../../test/support/pre-starting.ts';
import { freshThread } from './carrier-thread.ts';

describe('a pre-started turn', () => {
  it('is made while another one is answered, and given once', async () => {
    const { turns, worker, noted, ask, taken } = preStarting();
    // The first request finds nothing.
    const first = await ask('gpt-5.5');
    expect([taken(first), noted]).toEqual([null, { fates: [], misses: 1, waiting: [] }]);
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    const second = await ask('gpt-5.5');
    const third = await ask('gpt-5.5');
    expect([taken(second), taken(third)]).toEqual(['thread-1', null]);
    expect(noted).toEqual({ fates: ['used'], misses: 2, waiting: [1, 0] });
    expect(worker.threadsOf('turn/start')).toEqual(['thread-1']);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual([]);
  });

  it('is for its model only, and for its worker', async () => {
    const { turns, worker, another, ask, taken } = preStarting();
    const other = another();
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect([
      taken(await ask('gpt-6')),
      taken(await turns.take(other.lease, 'gpt-5.5', 'one')),
      taken(await ask('gpt-5.5')),
    ]).toEqual([null, null, 'thread-1']);
  });

  it('is for any caller if its thread is new', async () => {
    const { turns, worker, ask, taken } = preStarting();
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5', 'other'))).toBe('thread-1');
  });

  it('is for one caller only if its thread has carried turns of that one', async () => {
    const { turns, worker, ask, taken } = preStarting();
    turns.ended(worker.lease, 'gpt-5.5', { ...freshThread('of-one', 'gpt-5.5'), caller: 'one', turns: 1 });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(worker.threadsOf('turn/start')).toEqual(['of-one']);
    expect([taken(await ask('gpt-5.5', 'other')), taken(await ask('gpt-5.5', ''))]).toEqual([null, null]);
    // It does not count as one for the other caller, and is the first for its own.
    turns.prepare(worker.lease, 'gpt-5.5', 'other');
    await settled();
    expect(worker.threadsOf('turn/start')).toEqual(['of-one', 'thread-1', 'thread-2']);
    expect(taken(await ask('gpt-5.5', 'other'))).toBe('thread-1');
    expect(taken(await ask('gpt-5.5', 'one'))).toBe('of-one');
    expect(taken(await ask('gpt-5.5', 'one'))).toBe('thread-2');
  });

  it('is the own one of the caller before one for all', async () => {
    const { turns, worker, ask, taken } = preStarting();
    for (let nth = 0; nth < 2; nth += 1) await ask('gpt-5.5');
    turns.prepare(worker.lease, 'gpt-5.5', 'other');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('thread-1');
    turns.ended(worker.lease, 'gpt-5.5', { ...freshThread('of-one', 'gpt-5.5'), caller: 'one', turns: 1 });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('of-one');
    expect(taken(await ask('gpt-5.5'))).toBe('thread-2');
  });

  it('is awaited while it is being made, by one request', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    const first = ask('gpt-5.5');
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    expect(await tell(first)).toBe('waits');
    started.resolve();
    expect(taken(await first)).toBe('thread-1');
    expect(noted).toEqual({ fates: ['used'], misses: 1, waiting: [1, 0] });
  });

  it('is not awaited if another one is ready', async () => {
    const { turns, worker, ask, taken } = preStarting();
    for (let nth = 0; nth < 2; nth += 1) await ask('gpt-5.5');
    const started = [Promise.withResolvers<void>().promise, Promise.resolve()];
    worker.beforeAnswer = async (method) => {
      if (method === 'turn/start') await started.shift();
    };
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(taken(await ask('gpt-5.5'))).toBe('thread-2');
  });

  it('is replaced by a new start if it fails while it is awaited', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    const started = Promise.withResolvers<void>();
    worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    const asked = ask('gpt-5.5');
    started.reject(new Error('refused'));
    expect(taken(await asked)).toBeNull();
    expect(noted).toMatchObject({ misses: 1, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });
});

describe('a thread without a turn', () => {
  it('is given to its caller if no turn waits', async () => {
    const { turns, worker, ask, noted } = preStarting();
    const thread = { ...freshThread('thread-9', 'gpt-5.5'), caller: 'one', turns: 1 };
    turns.ended(worker.lease, 'gpt-5.5', thread);
    expect([await ask('gpt-5.5', 'other'), await ask('gpt-6')]).toEqual([null, null]);
    expect(await ask('gpt-5.5')).toBe(thread);
    expect([await ask('gpt-5.5'), noted.misses]).toEqual([null, 4]);
  });

  it('carries the next pre-started turn of its caller', async () => {
    const { turns, worker, ask, taken } = preStarting();
    await ask('gpt-5.5');
    turns.ended(worker.lease, 'gpt-5.5', {
      ...freshThread('thread-9', 'gpt-5.5'),
      caller: 'one',
      turns: 1,
    });
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(worker.calls.map(([method]) => method)).toEqual(['thread/inject_items', 'turn/start']);
    expect(taken(await ask('gpt-5.5'))).toBe('thread-9');
  });

  it('is closed if its worker is being replaced', () => {
    const { turns, worker, idle } = preStarting();
    worker.isCurrent = false;
    turns.ended(worker.lease, 'gpt-5.5', freshThread('thread-9', 'gpt-5.5'));
    expect([worker.threadsOf('thread/unsubscribe'), idle().at(-1)]).toEqual([['thread-9'], 0]);
  });
});

describe('a pre-started turn that cannot be used', () => {
  const made = async () => {
    const all = preStarting();
    all.turns.prepare(all.worker.lease, 'gpt-5.5', 'one');
    await settled();
    return all;
  };

  it('is too old after 5 minutes', async () => {
    const { clock, worker, ask, taken, noted } = await made();
    clock.nowMs = 5 * MINUTE;
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    expect(noted).toEqual({ fates: ['expired'], misses: 1, waiting: [1, 0] });
    await settled();
    expect(worker.threadsOf('turn/interrupt')).toEqual(['thread-1']);
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('is old enough just before', async () => {
    const { clock, ask, taken, noted } = await made();
    clock.nowMs = 5 * MINUTE - 1;
    expect([taken(await ask('gpt-5.5')), noted.fates]).toEqual(['thread-1', ['used']]);
  });

  it.each([
    [MINUTE, ['expired']],
    [MINUTE + 1, ['used']],
  ])('needs credentials for more than a minute: %d ms', async (left, fates) => {
    const { clock, relay, worker, ask, noted } = await made();
    clock.nowMs = 1_000;
    Object.assign(relay.turns[0] ?? {}, { expiresAtMs: 1_000 + left });
    await ask('gpt-5.5');
    await settled();
    const closed = fates[0] === 'expired' ? ['thread-1'] : [];
    expect([noted.fates, worker.threadsOf('thread/unsubscribe')]).toEqual([fates, closed]);
  });

  it.each([
    ['its worker exits', (all: ReturnType<typeof preStarting>) => all.worker.exit(), []],
    [
      'codex sends another model request',
      (all: ReturnType<typeof preStarting>) => all.relay.turns[0]?.expected.onLost(),
      ['thread-1'],
    ],
    [
      'codex ends it',
      (all: ReturnType<typeof preStarting>) => all.worker.complete('thread-1', 'failed'),
      ['thread-1'],
    ],
  ])('is dropped when %s', async (_, end, closed) => {
    const all = await made();
    end(all);
    await settled();
    expect(all.noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(all.worker.threadsOf('thread/unsubscribe')).toEqual(closed);
    expect(all.relay.turns[0]?.done).toEqual(['started turn-1', 'refused']);
    expect(all.taken(await all.ask('gpt-5.5'))).toBeNull();
  });

  it('is not given in the moment in which it is lost', async () => {
    const { relay, worker, ask, taken, noted } = await made();
    relay.turns[0]?.expected.onLost();
    expect(taken(await ask('gpt-5.5'))).toBeNull();
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 1, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('could not be started', async () => {
    const { turns, worker, ask, taken, noted } = preStarting();
    worker.beforeAnswer = () => Promise.reject(new Error('refused'));
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(taken(await ask('gpt-5.5'))).toBeNull();
  });

  it('was lost while it was being started', async () => {
    const { turns, worker, relay, noted } = preStarting();
    worker.beforeAnswer = async (method) => {
      if (method === 'turn/start') relay.turns[0]?.expected.onLost();
    };
    turns.prepare(worker.lease, 'gpt-5.5', 'one');
    await settled();
    expect(noted).toEqual({ fates: ['failed'], misses: 0, waiting: [1, 0] });
    expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
  });

  it('is not counted twice if it is used before it is over', async () => {
    const { worker, ask, taken, noted } = await made();
    const one = await ask('gpt-5.5');
    expect(taken(one)).toBe('thread-1');
    worker.complete('thread-1');
    if (one !== null && 'end' in one) await one.end(GIVEN_UP);
    await settled();
    expect(noted).toEqual({ fates: ['used'], misses: 0, waiting: [1, 0] });
  });
});
