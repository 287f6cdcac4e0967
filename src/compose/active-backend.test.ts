import { afterEach, describe, expect, it } from 'vitest';

import { planOf } from '../../test/support/plan.ts';
import { collect } from '../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../test/support/turn-request.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Plan } from '../engine/engine.ts';
import type { Backend } from './backend.ts';
import {
  createActiveBackend,
  type Choice,
  type ActiveBackend,
  RelayBypass,
  BYPASS_MS,
} from './active-backend.ts';

describe('createActiveBackend', () => {
  const ended: TurnEvent = {
    type: 'turn-ended',
    outcome: { kind: 'completed' },
    usage: null,
    at: 1_800_000_000_000,
  };
  const said = (name: string): TurnEvent => ({ type: 'item-delta', itemId: name, at: 'text', delta: name });
  const never = new AbortController().signal;

  interface FakeBackend extends Backend {
    readonly name: string;
    renewals: number;
    closed: number | null;
    release(): void;
  }

  /** Returns its name; its close waits until released, like that of a backend with running turns. */
  const fakeBackend = (name: string, turn?: Plan['run']): FakeBackend => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const backend: FakeBackend = {
      name,
      renewals: 0,
      closed: null,
      release: () => release(),
      engine: {
        plan: () =>
          planOf(
            turn ??
              async function* says(_signal, onSettled) {
                yield said(name);
                onSettled?.();
                yield ended;
              },
            { ignored: [{ include: name }] },
          ),
      },
      models: { names: async () => ({}) as never },
      state: { kind: 'demo' },
      codexAccount: {} as never,
      codexModels: () => [],
      ready: () => true,
      workers: () => [],
      listMcpTools: async () => [],
      renew() {
        backend.renewals += 1;
      },
      async close(timeoutMs) {
        backend.closed = timeoutMs;
        if (timeoutMs > 1_000) await released;
      },
    };
    return backend;
  };

  let active: ActiveBackend | null = null;
  afterEach(async () => {
    await active?.close(0);
    active = null;
  });

  const start = async (first: Choice) => {
    const noted: { switches: string[]; troubles: unknown[] } = { switches: [], troubles: [] };
    let choice: () => Choice = () => first;
    active = await createActiveBackend({
      choose: async () => choice(),
      lookEveryMs: 1_000_000,
      onSwitch: (backend) => noted.switches.push((backend as FakeBackend).name),
      onTrouble: (error) => noted.troubles.push(error),
    });
    return {
      active,
      noted,
      async change(next: () => Choice) {
        choice = next;
        await active?.look();
      },
    };
  };
  const choiceOf = (backend: Backend, identity: string, revision = ''): Choice => ({
    identity,
    revision,
    make: async () => backend,
  });
  const run = (on: ActiveBackend): Promise<TurnEvent[]> =>
    collect(on.engine.plan(turnRequest(), turnContext()).run(never));

  it('runs turns on the current backend, and lets the previous one finish', async () => {
    const [one, two] = [fakeBackend('one'), fakeBackend('two')];
    const { active: on, noted, change } = await start(choiceOf(one, '1'));
    expect(await run(on)).toEqual([said('one'), ended]);
    await change(() => choiceOf(one, '1'));
    expect(noted.switches).toEqual([]);
    await change(() => choiceOf(two, '2'));
    expect(await run(on)).toEqual([said('two'), ended]);
    expect(on.engine.plan(turnRequest(), turnContext()).ignored).toEqual([{ include: 'two' }]);
    expect(noted).toEqual({ switches: ['two'], troubles: [] });
    // It waits for its turns without a limit.
    expect(one.closed).toBeGreaterThan(1_000_000);
    one.release();
  });

  it('only restarts processes for new tokens of the same account', async () => {
    const one = fakeBackend('one');
    const { noted, change } = await start(choiceOf(one, '1', 'a'));
    await change(() => choiceOf(fakeBackend('never'), '1', 'b'));
    await change(() => choiceOf(fakeBackend('never'), '1', 'b'));
    expect([one.renewals, one.closed, noted.switches]).toEqual([1, null, []]);
  });

  it('keeps the current backend when a new one cannot be created, and tries again', async () => {
    const [one, two] = [fakeBackend('one'), fakeBackend('two')];
    const { active: on, noted, change } = await start(choiceOf(one, '1'));
    const broken = {
      ...choiceOf(two, '2'),
      make: async () => {
        throw new Error('no');
      },
    };
    await change(() => broken);
    // The same error is logged once, not every two seconds.
    await change(() => broken);
    expect(await run(on)).toEqual([said('one'), ended]);
    expect([noted.troubles.length, one.closed]).toEqual([1, null]);
    await change(() => choiceOf(two, '2'));
    expect(await run(on)).toEqual([said('two'), ended]);
    one.release();
  });

  it('uses the new backend if the old one closed before the turn began', async () => {
    const two = fakeBackend('two');
    let letGo: Promise<void> = Promise.resolve();
    // eslint-disable-next-line require-yield
    const one = fakeBackend('one', async function* goes() {
      await letGo;
      throw gatewayError('shutting_down');
    });
    const { active: on, change } = await start(choiceOf(one, '1'));
    letGo = change(() => choiceOf(two, '2'));
    let settled = 0;
    const turn = on.engine.plan(turnRequest(), turnContext()).run(never, () => {
      settled += 1;
    });
    expect([await collect(turn), settled]).toEqual([[said('two'), ended], 1]);
    one.release();
  });

  it('closes all backends', async () => {
    const [one, two] = [fakeBackend('one'), fakeBackend('two')];
    const { active: on, change } = await start(choiceOf(one, '1'));
    await change(() => choiceOf(two, '2'));
    await on.close(7);
    expect([one.closed, two.closed]).toEqual([7, 7]);
    one.release();
  });
});

describe('RelayBypass', () => {
  it('opens for a while after three block pages in a row', () => {
    let now = 1_000;
    const bypass = new RelayBypass({ now: () => now });
    expect([bypass.blocked(), bypass.blocked(), bypass.isOpen()]).toEqual([false, false, false]);
    bypass.served();
    expect([bypass.blocked(), bypass.blocked(), bypass.blocked(), bypass.isOpen()]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    now += BYPASS_MS;
    expect(bypass.isOpen()).toBe(false);
  });
});
