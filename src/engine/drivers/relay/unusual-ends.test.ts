import { describe, expect, it, vi } from 'vitest';

import { carrying, keptTrace } from '../../../../test/support/carried.ts';
import { COMPLETE, fakeRelay, fakeWorker, GIVEN_UP } from '../../../../test/support/carriers.ts';
import { settled } from '../../../../test/support/fake-pool.ts';
import { MINUTE, preStarting } from '../../../../test/support/pre-starting.ts';
import { threadSettings } from '../../../../test/support/thread-settings.ts';
import { fixedAmbient } from '../../../../test/support/turn-events.ts';
import { Carrier, freshThread } from './carrier.ts';
import { plainPlan } from './carrier-plans.ts';
import { IdleThreads, RecentKinds } from './pre-started-turns.ts';

describe('a client that leaves while its turn is being started', () => {
  const leave = async (world: ReturnType<typeof carrying>): Promise<void> => {
    const started = Promise.withResolvers<void>();
    world.worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    const { turn, start } = world.turnOf();
    const starting = start();
    await settled();
    const ended = turn.end(GIVEN_UP);
    started.resolve();
    await expect(starting).rejects.toThrow('given up');
    await ended;
    world.worker.beforeAnswer = async () => {};
  };

  it('counts as ended once', async () => {
    const world = carrying();
    const ended = vi.spyOn(world.turns, 'ended');
    await leave(world);
    expect(ended).toHaveBeenCalledOnce();
  });

  it('does not stop pre-starting', async () => {
    const world = carrying();
    await leave(world);
    world.clock.nowMs = MINUTE + 1;
    // Another request, an answer: one must be made for the next.
    await world.turnOf().start();
    world.upstream({ kind: 'answer-started' });
    await settled();
    // The carrier of the one who left was used, and the next is made.
    expect(world.noted.waiting).toEqual([1, 0, 1]);
  });

  it('keeps its lease until codex has nothing to do with it', async () => {
    const world = carrying();
    const started = Promise.withResolvers<void>();
    world.worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
    const { turn, start } = world.turnOf();
    const starting = start().catch(() => 'gone');
    await settled();
    let isEnded = false;
    void (async () => {
      await turn.end(GIVEN_UP);
      isEnded = true;
    })();
    await settled();
    expect(isEnded).toBe(false);
    started.resolve();
    await starting;
    await settled();
    expect(isEnded).toBe(true);
  });
});

it('a capture has each signal once, also with a carrier of its own', async () => {
  const trace = keptTrace();
  const { worker, turnOf } = carrying(0);
  await turnOf({}, { trace }).start();
  worker.complete('thread-1');
  expect(trace.facts.filter((one) => (one as [string])[0] === 'rpc-told')).toHaveLength(1);
});

it('a pre-started turn that fails while a request waits for it is counted', async () => {
  const { turns, worker, ask, noted } = preStarting();
  const started = Promise.withResolvers<void>();
  worker.beforeAnswer = (method) => (method === 'turn/start' ? started.promise : Promise.resolve());
  turns.prepare(worker.lease, 'gpt-5.5', 'one');
  const asked = ask('gpt-5.5');
  started.reject(new Error('refused'));
  await asked;
  expect(noted.fates).toEqual(['failed']);
});

it('an idle thread of a worker that has exited is not kept', () => {
  const worker = fakeWorker();
  const idle = new IdleThreads(worker.appServer, () => {});
  worker.exit();
  idle.add({ ...freshThread('thread-1', 'm'), caller: 'one' }, 0);
  expect([idle.size, idle.take('m', 'one')]).toEqual([0, null]);
});

const carrierOn = async () => {
  const [worker, relay] = [fakeWorker(), fakeRelay()];
  const deps = {
    relay,
    settings: threadSettings(),
    ...fixedAmbient(),
    continuing: { works: true, onStopped() {} },
  };
  return { worker, relay, carrier: await Carrier.start(plainPlan(worker.appServer, 'm', null, deps)) };
};

it('the thread of a worker that has exited after it completed the turn cannot be used again', async () => {
  const { worker, carrier } = await carrierOn();
  worker.complete('thread-1');
  worker.exit();
  expect(await carrier.end(COMPLETE)).toBeNull();
});

it('a thread that is lost after its turn has ended is closed', async () => {
  const { worker, relay, carrier } = await carrierOn();
  worker.complete('thread-1');
  relay.turns[0]?.expected.onLost();
  await carrier.end(GIVEN_UP);
  expect(worker.threadsOf('thread/unsubscribe')).toEqual(['thread-1']);
});

it('a lost turn that codex completed anyway cannot be used again, nor interrupted', async () => {
  const { worker, relay, carrier } = await carrierOn();
  relay.turns[0]?.expected.onLost();
  worker.complete('thread-1');
  expect(await carrier.end(COMPLETE)).toBeNull();
  expect(worker.threadsOf('turn/interrupt')).toEqual([]);
});

it('a kind that was forgotten while a request ran is counted from nothing', () => {
  const clock = { nowMs: 0, now: () => clock.nowMs };
  const kinds = new RecentKinds(clock);
  kinds.began('a');
  for (let nth = 0; nth < 256; nth += 1) kinds.began(`m${nth}`);
  kinds.began('a');
  kinds.ended('a');
  kinds.ended('a');
  clock.nowMs = MINUTE + 1;
  kinds.began('a');
  expect(kinds.wanted('a')).toBe(1);
});

it('turns of a worker that is replaced did not expire', async () => {
  const { turns, worker, noted } = preStarting();
  turns.prepare(worker.lease, 'm', 'one');
  await settled();
  worker.isCurrent = false;
  turns.refresh();
  await settled();
  expect(noted.fates).toEqual(['dropped']);
});

it('turns of a burst are not made again and again when nothing is asked', async () => {
  const { turns, clock, worker, ask } = preStarting();
  for (let nth = 0; nth < 8; nth += 1) await ask('m');
  turns.prepare(worker.lease, 'm', 'one');
  for (let nth = 0; nth < 8; nth += 1) turns.ended(worker.lease, 'm', null);
  await settled();
  const made = worker.threadsOf('turn/start').length;
  for (let minutes = 5; minutes <= 25; minutes += 5) {
    clock.nowMs = minutes * MINUTE;
    turns.refresh();
    await settled();
  }
  // One each time is enough: the burst was not in the last minute.
  expect(worker.threadsOf('turn/start').length - made).toBe(5);
});
