import { expect, it } from 'vitest';

import type { Item } from '../../src/canonical/request/item.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { createReferredItems } from '../../src/features/state/referred-items.ts';
import { storedItems, turnBody } from '../../src/features/state/stored-turn.ts';
import type { TurnStore } from '../../src/features/state/store/port.ts';
import { DAY, describeStores } from '../support/store-harness.ts';

const NO_MEMORY = { of: () => ({ recall: () => null, remember() {}, forget() {} }) };

describeStores('items that a request refers to', (open) => {
  it('are read some at a time, so that a request ends at its limit before it loads all of them', async () => {
    const { store, clock } = open();
    const message = (text: string): Item => ({
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'text', text }],
    });
    const expected = new Map<string, Item>();
    for (let count = 0; count < 4; count += 1) {
      const key = systemAmbient.ids.mint('turn').slice('turn_'.length);
      const id = systemAmbient.ids.mint('msg');
      const turn = {
        input: [message('a'.repeat(3_000_000)), message('b')],
        output: [{ kind: 'message', role: 'assistant', id, parts: [{ kind: 'text', text: 'c' }] } as const],
      };
      await store.turns.commit({
        owner: 'alice',
        onto: { kind: 'new', segment: systemAmbient.ids.mint('seg'), cacheKey: 'c' },
        turn: { key, body: JSON.stringify(turnBody(turn)), itemIds: [id] },
        response: null,
        expiresAt: clock.time + DAY,
      });
      for (const one of storedItems(key, turn).slice(1)) expected.set(one.id, one.item);
    }
    let rows = 0;
    const counted: TurnStore = {
      ...store.turns,
      async byKeys(...args) {
        const found = await store.turns.byKeys(...args);
        rows += found.length;
        return found;
      },
      async byItems(...args) {
        const found = await store.turns.byItems(...args);
        rows += found.size;
        return found;
      },
    };
    const items = createReferredItems({ turns: counted }, NO_MEMORY);
    const load = (owner: string, maxBytes: number) => {
      let bytes = 0;
      const onBytes = (more: number): void => {
        bytes += more;
        if (bytes > maxBytes) throw new Error('too large');
      };
      const { signal } = new AbortController();
      return items.load({ caller: owner, onBytes, signal }, [...expected.keys(), 'msg_unknown']);
    };
    expect(await load('alice', 30_000_000)).toEqual(expected);
    expect(rows).toBe(8);
    rows = 0;
    await expect(load('alice', 5_000_000)).rejects.toThrow('too large');
    expect(rows).toBe(2);
    rows = 0;
    expect(await load('bob', 5_000_000)).toEqual(new Map());
    expect(rows).toBe(0);
  });
});
