import { openStore } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';

/**
 * Writes turns to a store until it is killed, and prints the response id of each one that was stored. Several chains are
 * written at once.
 */
const [databaseUrl = '', file = '', run = '', key = ''] = process.argv.slice(2);
const { turns } = stateStoreOf(
  await openStore({
    databaseUrl: databaseUrl === '' ? null : databaseUrl,
    file,
    keys: key === '' ? [] : [key],
    timeoutMs: 30_000,
    clock: { now: () => Date.now() },
  }),
);

const writeChain = async (chain: number): Promise<never> => {
  let at = null;
  for (let count = 0; ; count += 1) {
    const id = `resp_${run}_${chain}_${count}`;
    const fork = `seg_${run}_${chain}_${count}`;
    const expiresAt = Date.now() + 1_000_000;
    const onto =
      at === null ? ({ kind: 'new', segment: fork } as const) : ({ kind: 'after', at, fork } as const);
    at = await turns.commit({
      owner: 'alice',
      onto: { ...onto, cacheKey: 'c' },
      turn: { key: id, body: JSON.stringify([id, 'x'.repeat((count % 5) * 20_000)]), itemIds: [`msg_${id}`] },
      response: {
        id,
        status: 'completed',
        isBackground: false,
        createdAt: Date.now(),
        expiresAt,
        body: JSON.stringify({ id, chain, count }),
      },
      expiresAt,
    });
    process.stdout.write(`${id} ${JSON.stringify(at)}\n`);
  }
};

await Promise.all([0, 1, 2, 3].map(writeChain));
