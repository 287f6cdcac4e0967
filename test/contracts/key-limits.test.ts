import { expect, it } from 'vitest';

import type { KeyLimit } from '../../src/features/keys/key.ts';
import type { Store } from '../../src/store/store.ts';
import type { GatePass } from '../../src/turns/turn-gate.ts';
import { askOf, KEY, limitOf, runTurn } from '../support/key-gate.ts';
import { describeStores } from '../support/store-harness.ts';
import { KeyGate } from '../../src/features/keys/key-gate.ts';
import { readLimitStatus } from '../../src/features/keys/key-limits.ts';
import { limitStore } from '../../src/features/keys/limit-store.ts';
import { Reservations } from '../../src/features/keys/reservations.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { partOf } from '../../src/store/part.ts';

/** The limits of a key as servers hold them that share a database. */

const usageOf = (inputTokens: number) => ({
  inputTokens,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  totalTokens: inputTokens,
});

interface LimitServer {
  readonly gate: KeyGate;
  status(): ReturnType<typeof readLimitStatus>;
  close(): Promise<void>;
}

/** Reports of what was not counted. */
const lost: unknown[] = [];

describeStores('limits of a key', (open) => {
  const server = (store: Store, id: string, limit: Partial<KeyLimit>): LimitServer => {
    const key = { ...KEY, id, limits: [limitOf({ window: 'month', ...limit })] };
    const limits = partOf(store, limitStore);
    const reservations = new Reservations({
      store: limits,
      ambient: systemAmbient,
      onUnsettled: (error) => void lost.push(error),
    });
    const gate = new KeyGate({
      directory: { byId: () => key, refusalOf: () => null },
      reservations,
      storage: null,
      prices: {},
      modelInfo: () => expect.fail('no key has a ceiling for its effort'),
      onRefused() {},
    });
    return {
      gate,
      status: () => readLimitStatus(key, limits),
      close: () => reservations.close(),
    };
  };
  /** The turns that are let in, of so many that ask at once. */
  const enter = async (servers: readonly LimitServer[], times: number): Promise<readonly GatePass[]> => {
    const asked = Array.from({ length: times }, (_, at) => servers[at % servers.length]!.gate.enter(askOf()));
    const answers = await Promise.allSettled(asked);
    return answers.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  };
  const usedOf = async ({ status }: LimitServer) => (await status())[0]?.used;

  it('lets in exactly as many requests as fit, on two servers, and counts all of them', async () => {
    const id = open().newId('key');
    const stores = [open().store, await open().openAnother()];
    const servers = stores.map((store) => server(store, id, { unit: 'requests', max: 100 }));
    // Each server has let in a request before: what it knows then is old.
    const before = [...(await enter(servers.slice(0, 1), 1)), ...(await enter(servers.slice(1), 1))];
    const passes = [...before, ...(await enter(servers, 200))];
    expect([passes.length, await usedOf(servers[0]!)]).toEqual([100, 100]);
    for (const pass of passes) {
      runTurn(pass, usageOf(1));
      pass.leave();
    }
    await Promise.all(servers.map((one) => one.close()));
    expect([await usedOf(servers[1]!), lost]).toEqual([100, []]);
  });

  it('counts everything that it has let in, also when turns use more than they reserved', async () => {
    const id = open().newId('key');
    const limits = server(open().store, id, { max: 10_000 });
    let sum = 0;
    for (let round = 0; round < 4; round += 1) {
      for (const pass of await enter([limits], 20)) {
        runTurn(pass, usageOf(5_000));
        pass.leave();
        sum += 5_000;
      }
      await expect.poll(() => usedOf(limits)).toBe(sum);
    }
    await limits.close();
    expect([sum, lost]).toEqual([20 * 5_000, []]);
  });
});
