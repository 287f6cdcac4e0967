import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { Item, Produced } from '../src/canonical/request/item.ts';
import { KeyIds } from '../src/store/key-ids.ts';
import { systemAmbient } from '../src/kit/ambient.ts';
import { responseBody, turnBody } from '../src/features/state/stored-turn.ts';
import { openStore } from '../src/compose/open-store.ts';
import { stateStoreOf } from '../src/features/state/store/state-store.ts';
import type { Position } from '../src/features/state/store/port.ts';
import { KEY } from './proxy-side.ts';

export interface Chains {
  readonly count: number;
  readonly turns: number;
  /** The input of each turn. */
  readonly text: string;
}

const DAY_MS = 24 * 60 * 60_000;
/** Written together. */
const AT_ONCE = 64;

/** Stores conversations in the state directory of a proxy that is not running. Returns the ids of their last responses. */
export const storeChains = async (stateDir: string, chains: Chains): Promise<readonly string[]> => {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  const store = stateStoreOf(
    await openStore({
      databaseUrl: null,
      file: path.join(stateDir, 'state.db'),
      keys: [],
      timeoutMs: 60_000,
      clock: systemAmbient.clock,
    }),
  );
  // Owners do not depend on the secret of the installation.
  const keyIds = new KeyIds([randomBytes(32)]);
  const owner = keyIds.ownerOf(keyIds.of(KEY));
  const { ids, clock } = systemAmbient;
  const now = clock.now();
  const write = async (at: Position | null): Promise<{ readonly at: Position; readonly id: string }> => {
    const id = ids.mint('resp');
    const answer: Produced = {
      kind: 'message',
      id: ids.mint('msg'),
      role: 'assistant',
      parts: [{ kind: 'text', text: 'An answer.' }],
    };
    const question: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: chains.text }] };
    const [segment, cacheKey] = [ids.mint('seg'), 'c'.repeat(32)];
    const position = await store.turns.commit({
      owner,
      onto: at === null ? { kind: 'new', segment, cacheKey } : { kind: 'after', at, fork: segment, cacheKey },
      turn: {
        key: id.slice('resp_'.length),
        body: JSON.stringify(turnBody({ input: [question], output: [answer] })),
        itemIds: [answer.id],
      },
      response: {
        id,
        status: 'completed',
        isBackground: false,
        createdAt: now,
        expiresAt: now + DAY_MS,
        body: JSON.stringify(responseBody({ object: { id, status: 'completed' } })),
      },
      expiresAt: now + DAY_MS,
    });
    if (position === null) throw new Error('nothing was stored');
    return { at: position, id };
  };
  const last: string[] = [];
  const chain = async (): Promise<void> => {
    let tip = await write(null);
    for (let turn = 1; turn < chains.turns; turn += 1) tip = await write(tip.at);
    last.push(tip.id);
  };
  for (let stored = 0; stored < chains.count; stored += AT_ONCE) {
    const some = Math.min(AT_ONCE, chains.count - stored);
    await Promise.all(Array.from({ length: some }, chain));
  }
  await store.close();
  return last;
};
