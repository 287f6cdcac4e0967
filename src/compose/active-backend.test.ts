import { afterEach, describe, expect, it } from 'vitest';

import { planOf } from '../../test/support/plan.ts';
import { collect } from '../../test/support/turn-events.ts';
import { turnRequest } from '../../test/support/turn-request.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Plan } from '../engine/engine.ts';
import type { South } from './backend.ts';
import { createSwitchboard, type Choice, type Switchboard } from './active-backend.ts';

const ended: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
};
const said = (name: string): TurnEvent => ({ type: 'item-delta', itemId: name, at: 'text', delta: name });
const never = new AbortController().signal;

interface FakeSouth extends South {
  readonly name: string;
  renewals: number;
  closed: number | null;
  release(): void;
}

/** Says its name; its close waits until it is released, as one with running turns does. */
const fakeSouth = (name: string, turn?: Plan['run']): FakeSouth => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const south: FakeSouth = {
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
    desk: {} as never,
    codexModels: () => [],
    ready: () => true,
    workers: () => [],
    listMcpTools: async () => [],
    renew() {
      south.renewals += 1;
    },
    async close(timeoutMs) {
      south.closed = timeoutMs;
      if (timeoutMs > 1_000) await released;
    },
  };
  return south;
};

let board: Switchboard | null = null;
afterEach(async () => {
  await board?.close(0);
  board = null;
});

const start = async (first: Choice) => {
  const noted: { switches: string[]; troubles: unknown[] } = { switches: [], troubles: [] };
  let choice: () => Choice = () => first;
  board = await createSwitchboard({
    choose: async () => choice(),
    lookEveryMs: 1_000_000,
    onSwitch: (south) => noted.switches.push((south as FakeSouth).name),
    onTrouble: (error) => noted.troubles.push(error),
  });
  return {
    board,
    noted,
    async change(next: () => Choice) {
      choice = next;
      await board?.look();
    },
  };
};
const choiceOf = (south: South, identity: string, revision = ''): Choice => ({
  identity,
  revision,
  make: async () => south,
});
const run = (on: Switchboard): Promise<TurnEvent[]> => collect(on.engine.plan(turnRequest()).run(never));

describe('the switchboard', () => {
  it('serves turns by what is chosen now, and lets the one before finish', async () => {
    const [one, two] = [fakeSouth('one'), fakeSouth('two')];
    const { board: on, noted, change } = await start(choiceOf(one, '1'));
    expect(await run(on)).toEqual([said('one'), ended]);
    await change(() => choiceOf(one, '1'));
    expect(noted.switches).toEqual([]);
    await change(() => choiceOf(two, '2'));
    expect(await run(on)).toEqual([said('two'), ended]);
    expect(on.engine.plan(turnRequest()).ignored).toEqual([{ include: 'two' }]);
    expect(noted).toEqual({ switches: ['two'], troubles: [] });
    // It waits for its turns as long as they take.
    expect(one.closed).toBeGreaterThan(1_000_000);
    one.release();
  });

  it('only renews the processes where the same account has other tokens', async () => {
    const one = fakeSouth('one');
    const { noted, change } = await start(choiceOf(one, '1', 'a'));
    await change(() => choiceOf(fakeSouth('never'), '1', 'b'));
    await change(() => choiceOf(fakeSouth('never'), '1', 'b'));
    expect([one.renewals, one.closed, noted.switches]).toEqual([1, null, []]);
  });

  it('stays with what answers when the other one cannot be made, and tries again', async () => {
    const [one, two] = [fakeSouth('one'), fakeSouth('two')];
    const { board: on, noted, change } = await start(choiceOf(one, '1'));
    const broken = {
      ...choiceOf(two, '2'),
      make: async () => {
        throw new Error('no');
      },
    };
    await change(() => broken);
    // The same trouble is told once, not every two seconds.
    await change(() => broken);
    expect(await run(on)).toEqual([said('one'), ended]);
    expect([noted.troubles.length, one.closed]).toEqual([1, null]);
    await change(() => choiceOf(two, '2'));
    expect(await run(on)).toEqual([said('two'), ended]);
    one.release();
  });

  it('asks the new one if the old one went before the turn had begun', async () => {
    const two = fakeSouth('two');
    let letGo: Promise<void> = Promise.resolve();
    // eslint-disable-next-line require-yield
    const one = fakeSouth('one', async function* goes() {
      await letGo;
      throw gatewayError('shutting_down');
    });
    const { board: on, change } = await start(choiceOf(one, '1'));
    letGo = change(() => choiceOf(two, '2'));
    let settled = 0;
    const turn = on.engine.plan(turnRequest()).run(never, () => {
      settled += 1;
    });
    expect([await collect(turn), settled]).toEqual([[said('two'), ended], 1]);
    one.release();
  });

  it('closes everything that is there', async () => {
    const [one, two] = [fakeSouth('one'), fakeSouth('two')];
    const { board: on, change } = await start(choiceOf(one, '1'));
    await change(() => choiceOf(two, '2'));
    await on.close(7);
    expect([one.closed, two.closed]).toEqual([7, 7]);
    one.release();
  });
});
