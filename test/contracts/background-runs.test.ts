import { expect, it } from 'vitest';

import { atOnce } from '../../src/kit/async/event-loop.ts';
import { gatewayError } from '../../src/canonical/failure/failure.ts';
import { unlessAborted } from '../../src/kit/async/wait.ts';
import {
  BackgroundRows,
  type BackgroundRun,
  BackgroundRuns,
  type BackgroundRunsOptions,
  type LostResponse,
} from '../../src/features/state/background/background-runs.ts';
import { ResponseEvents } from '../../src/features/state/background/response-events.ts';
import { readResponse } from '../../src/features/state/stored-turn.ts';
import type { StateStore } from '../../src/features/state/store/port.ts';
import type { BackgroundResponse, Frame } from '../../src/turns/api.ts';
import type { DetachedRun } from '../../src/turns/run.ts';
import type { FinishedAnswer } from '../../src/turns/turn-state.ts';
import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';
import { noState } from '../support/turn-state.ts';
import { collect } from '../support/turn-events.ts';
import { until } from '../support/until.ts';

const DONE = 'event: done\ndata: [DONE]\n\n';
const textOf = ({ event, data }: Frame): string =>
  event === 'done' ? DONE : `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const frame = (event: string, number: number): Frame => ({ event, data: { sequence_number: number } });

/** An instance on a store. */
const instanceOf = (
  harness: StoreHarness,
  store: StateStore,
  name: string,
  rerun: BackgroundRunsOptions['rerun'] = null,
) => {
  const errors: unknown[] = [];
  const ending = async (owner: string, id: string, first: number): Promise<readonly string[]> => {
    const row = await store.responses.find(owner, id);
    return [textOf(frame(`response.${row?.status}`, first)), DONE];
  };
  const onError = (error: unknown): void => void errors.push(error);
  const events = new ResponseEvents({ store, ending, onError });
  const runs = new BackgroundRuns({
    store,
    rows: new BackgroundRows({ store, clock: harness.clock, ttlMs: DAY }),
    events,
    clock: harness.clock,
    encode: textOf,
    ending,
    instance: name,
    room: () => 10,
    rerun,
    onBug: onError,
    onError,
    onChange() {},
    onLost() {},
    leaseEveryMs: 20,
  });
  const open = (id: string): BackgroundRun => {
    const response: BackgroundResponse = {
      kind: 'response',
      id,
      createdAt: 1,
      isStored: true,
      input: [],
      include: [],
      queued: { id, status: 'queued', output: [], store: true },
    };
    return runs.open({ owner: 'alice', response, isStream: true, firstEvent: 0 });
  };
  return { runs, events, open, errors };
};

/** A run whose frames the test sends. */
class ManualRun implements DetachedRun {
  readonly id = 'run';
  readonly meta = null;
  readonly ended = Promise.resolve();
  readonly #stop = new AbortController();
  readonly #frames: Frame[] = [];
  #changed = Promise.withResolvers<void>();

  send(...frames: readonly Frame[]): void {
    this.#frames.push(...frames);
    this.#changed.resolve();
  }

  cancel(reason?: unknown): void {
    this.#stop.abort(reason);
  }

  get isCancelled(): boolean {
    return this.#stop.signal.aborted;
  }

  async *events(): AsyncGenerator<Frame> {
    for (;;) {
      for (const one of this.#frames.splice(0)) {
        yield one;
        if (one.event === 'done') return;
      }
      this.#changed = Promise.withResolvers();
      await unlessAborted(this.#changed.promise, this.#stop.signal);
    }
  }
}

const LAST: Frame = { event: 'done', data: '[DONE]' };
const ANSWER = {} as FinishedAnswer;
const never = new AbortController().signal;

const statusOf = async ({ store }: StoreHarness, id: string): Promise<string | undefined> =>
  (await store.responses.at('alice', id))?.status;

/** A response whose instance has stopped, with the request that runs it again. */
const leaveResponse = async (harness: StoreHarness, id: string): Promise<void> => {
  const dead = instanceOf(harness, harness.store, harness.newId('instance'));
  const run = dead.open(id);
  await dead.runs.add(run, { body: {}, headers: {}, reruns: 0 });
  run.discard();
  await dead.runs.drain(0);
};

describeStores('background runs', (open) => {
  it('show their events when they are stored, and end with their last one', async () => {
    const harness = open();
    const one = instanceOf(harness, harness.store, harness.newId('instance'));
    const run = one.open(harness.newId('resp'));
    await one.runs.add(run, null);
    const manual = new ManualRun();
    const ended = one.runs.execute(run, manual);
    const reading = collect(one.events.read('alice', run.id, 0, never));
    manual.send(frame('response.created', 0), frame('response.queued', 1));
    await run.accepted();
    expect(await statusOf(harness, run.id)).toBe('in_progress');
    await run.stateOf(noState).record(ANSWER);
    await harness.store.responses.change('alice', run.id, { status: 'completed' });
    manual.send(frame('response.completed', 2), LAST);
    await ended;
    expect(await reading).toEqual([
      textOf(frame('response.created', 0)),
      textOf(frame('response.queued', 1)),
      textOf(frame('response.completed', 2)),
      DONE,
    ]);
    expect(await collect(one.events.read('alice', run.id, 2, never))).toEqual((await reading).slice(2));
    await one.runs.drain(0);
  });

  it('are not stopped by their own end, whenever their leases are renewed', async () => {
    const harness = open();
    let renewals = 0;
    const { responses } = harness.store;
    const renew: typeof responses.renew = async (...asked) => {
      const lost = await responses.renew(...asked);
      renewals += 1;
      return lost;
    };
    const counted: StateStore = { ...harness.store, responses: { ...responses, renew } };
    const one = instanceOf(harness, counted, harness.newId('instance'));
    one.runs.start();
    const run = one.open(harness.newId('resp'));
    await one.runs.add(run, null);
    const manual = new ManualRun();
    const ended = one.runs.execute(run, manual);
    await run.stateOf(noState).record(ANSWER);
    await harness.store.responses.change('alice', run.id, { status: 'completed' });
    const before = renewals;
    await until(() => renewals > before + 2);
    expect(manual.isCancelled).toBe(false);
    manual.send(frame('response.completed', 0), LAST);
    await ended;
    expect(await collect(one.events.read('alice', run.id, 0, never))).toEqual([
      textOf(frame('response.completed', 0)),
      DONE,
    ]);
    await one.runs.drain(0);
  });

  it('are cancelled by another instance', async () => {
    const harness = open();
    const other = instanceOf(harness, await harness.openAnother(), harness.newId('instance'));
    const one = instanceOf(harness, harness.store, harness.newId('instance'));
    one.runs.start();
    const run = one.open(harness.newId('resp'));
    await one.runs.add(run, null);
    const manual = new ManualRun();
    const ended = one.runs.execute(run, manual);
    manual.send(frame('response.created', 0));
    const row = await harness.store.responses.find('alice', run.id);
    await other.runs.cancel(row!);
    await ended;
    expect([manual.isCancelled, await statusOf(harness, run.id)]).toEqual([true, 'cancelled']);
    const texts = await collect(other.events.read('alice', run.id, 0, never));
    expect(texts).toEqual([textOf(frame('response.created', 0)), DONE]);
    await Promise.all([one.runs.drain(0), other.runs.drain(0)]);
  });

  it('fail if their answer cannot be stored', async () => {
    const harness = open();
    const one = instanceOf(harness, harness.store, harness.newId('instance'));
    const run = one.open(harness.newId('resp'));
    await one.runs.add(run, null);
    const manual = new ManualRun();
    const ended = one.runs.execute(run, manual);
    const state = run.stateOf({
      ...noState,
      record: () => Promise.reject(gatewayError('store_unavailable')),
    });
    await expect(state.record(ANSWER)).rejects.toThrow('unavailable');
    manual.send(frame('response.failed', 0), LAST);
    await ended;
    const row = await harness.store.responses.find('alice', run.id);
    expect([row?.status, atOnce(readResponse(row!)).object]).toMatchObject([
      'failed',
      { status: 'failed', error: { code: 'server_error' } },
    ]);
    await one.runs.drain(0);
  });

  it('are taken over when their instance has stopped, and fail', async () => {
    const harness = open();
    const dead = instanceOf(harness, harness.store, harness.newId('instance'));
    const run = dead.open(harness.newId('resp'));
    await dead.runs.add(run, null);
    const event = textOf(frame('response.created', 0));
    await harness.store.events.append('alice', run.id, { first: 0, last: 0, body: event }, 2 ** 50);
    run.discard();
    const one = instanceOf(harness, await harness.openAnother(), harness.newId('instance'));
    const reading = collect(one.events.read('alice', run.id, 0, never));
    one.runs.start();
    await until(async () => (await statusOf(harness, run.id)) === 'failed');
    expect(await reading).toEqual([event, textOf(frame('response.failed', 1)), DONE]);
    await Promise.all([one.runs.drain(0), dead.runs.drain(0)]);
  });

  it('are leased while they are prepared to run again', async () => {
    const harness = open();
    const responseId = harness.newId('resp');
    await leaveResponse(harness, responseId);
    const prepared = Promise.withResolvers<void>();
    const begun: string[] = [];
    const rerunBy = (name: string) => (lost: LostResponse) => {
      if (lost.row.id === responseId) begun.push(name);
      return prepared.promise;
    };
    /** An instance looks at all leases right after it has renewed its own. */
    const looking = (store: StateStore, look: () => unknown): StateStore => {
      const leases: StateStore['responses']['leases'] = async (max) => {
        await look();
        return store.responses.leases(max);
      };
      return { ...store, responses: { ...store.responses, leases } };
    };
    const looks = { one: 0, two: 0, oneBeforeTwo: 0 };
    const first = looking(harness.store, () => (looks.one += 1));
    // However busy the machine is, the first instance has its turn between two looks of the second.
    const second = looking(await harness.openAnother(), async () => {
      await until(() => looks.one > looks.oneBeforeTwo);
      looks.oneBeforeTwo = looks.one;
      looks.two += 1;
    });
    const one = instanceOf(harness, first, harness.newId('instance'), rerunBy('one'));
    const two = instanceOf(harness, second, harness.newId('instance'), rerunBy('two'));
    one.runs.start();
    await until(() => begun.length > 0);
    two.runs.start();
    await until(() => looks.two > 8);
    looks.one = Infinity;
    prepared.resolve();
    await Promise.all([one.runs.drain(0), two.runs.drain(0)]);
    expect([begun, one.errors, two.errors]).toEqual([['one'], [], []]);
  });

  it.each(['are taken over by another instance', 'have a server that stops'] as const)(
    'are left as they are if they %s while they are prepared to run again',
    async (how) => {
      const harness = open();
      const responseId = harness.newId('resp');
      await leaveResponse(harness, responseId);
      const lost = Promise.withResolvers<LostResponse>();
      const prepared = Promise.withResolvers<void>();
      const one = instanceOf(harness, harness.store, harness.newId('instance'), async (given) => {
        if (given.row.id === responseId) lost.resolve(given);
        await unlessAborted(prepared.promise, given.signal);
      });
      one.runs.start();
      const { signal } = await lost.promise;
      if (how === 'have a server that stops') await one.runs.drain(0);
      else {
        const { responses } = harness.store;
        const lease = { instance: harness.newId('instance'), beat: 0 };
        // Nothing is taken if the lease is renewed in between.
        await until(async () => {
          const seen = (await responses.leases(1_000)).filter(({ id }) => id === responseId);
          return (await responses.take(lease, seen)).length > 0;
        });
      }
      await until(() => signal.aborted);
      await one.runs.drain(0);
      expect([await statusOf(harness, responseId), one.errors]).toEqual(['queued', []]);
    },
  );

  it('are interrupted when their server stops', async () => {
    const harness = open();
    const one = instanceOf(harness, harness.store, harness.newId('instance'));
    const run = one.open(harness.newId('resp'));
    await one.runs.add(run, null);
    const manual = new ManualRun();
    void one.runs.execute(run, manual);
    manual.send(frame('response.created', 0));
    await one.runs.drain(0);
    expect([manual.isCancelled, await statusOf(harness, run.id)]).toEqual([true, 'failed']);
    expect(await collect(one.events.read('alice', run.id, 1, never))).toEqual([
      textOf(frame('response.failed', 1)),
      DONE,
    ]);
  });
});
