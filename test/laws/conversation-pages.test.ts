import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import type { Item } from '../../src/canonical/request/item.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { ConversationLocks } from '../../src/features/state/conversation-locks.ts';
import { Conversations } from '../../src/features/state/conversations.ts';
import { turnBody, storedItems, type StoredItem } from '../../src/features/state/stored-turn.ts';
import { runs } from '../support/runs.ts';
import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';

/** Pages of the items of a conversation, compared with a plain list. */

const ASK = { caller: 'alice', signal: new AbortController().signal, onBytes() {} };

const message = (text: string): Item => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] });

const open = ({ store }: StoreHarness): Conversations => {
  const { ids } = systemAmbient;
  const locks = new ConversationLocks({
    store,
    ambient: systemAmbient,
    waitMs: 10_000,
    onError: (error) => expect.fail(String(error)),
  });
  return new Conversations({ store, locks, ambient: { ids, clock: systemAmbient.clock }, ttlMs: DAY });
};

interface Turn {
  readonly input: number;
  readonly output: number;
}

/** A turn as a response adds it. Some backends number their items, so that ids repeat. */
const addTurn = async (
  { store, clock }: StoreHarness,
  id: string,
  { input, output }: Turn,
): Promise<readonly StoredItem[]> => {
  const key = systemAmbient.ids.mint('key').slice(4);
  const turn = {
    input: Array.from({ length: input }, (_, index) => ({ ...message(`${index}`), id: 'msg_client' })),
    output: Array.from({ length: output }, (_, index) => ({
      kind: 'message' as const,
      role: 'assistant' as const,
      id: index % 3 === 0 ? `msg_${index}` : systemAmbient.ids.mint('msg'),
      parts: [{ kind: 'text' as const, text: `${index}` }],
    })),
  };
  await store.turns.commit({
    owner: 'alice',
    onto: { kind: 'conversation', id },
    turn: { key, body: JSON.stringify(turnBody(turn)), itemIds: turn.output.map((item) => item.id) },
    response: null,
    expiresAt: clock.time + DAY,
  });
  return storedItems(key, turn);
};

const turns = fc.array(fc.record({ input: fc.nat(3), output: fc.nat(4) }), { maxLength: 14 });

describeStores('the items of a conversation', (harness) => {
  it('are paged like a list', async () => {
    const conversations = open(harness());
    const property = fc.asyncProperty(
      turns,
      fc.infiniteStream(fc.boolean()),
      fc.integer({ min: 1, max: 25 }),
      fc.constantFrom('asc', 'desc'),
      async (list, isDeleted, limit, order) => {
        const { id } = await conversations.create(ASK, { items: [], metadata: {} });
        const all: StoredItem[] = [];
        for (const turn of list) all.push(...(await addTurn(harness(), id, turn)));
        const left: StoredItem[] = [];
        for (const item of all) {
          if (isDeleted.next().value === true) await conversations.deleteItem(ASK, id, item.id);
          else left.push(item);
        }
        const expected = order === 'asc' ? left : left.toReversed();
        const read: StoredItem[] = [];
        for (let after: string | null = null; ;) {
          const { items, hasMore } = await conversations.page(ASK, id, { limit, order, after });
          read.push(...items);
          expect(items).toHaveLength(Math.min(limit, expected.length - read.length + items.length));
          expect(hasMore).toBe(read.length < expected.length);
          if (!hasMore) break;
          after = items.at(-1)?.id ?? null;
        }
        expect(read).toEqual(expected);
        // Any item is a cursor, also a deleted one.
        for (const [place, { id: after }] of all.entries()) {
          const later = new Set(
            (order === 'asc' ? all.slice(place + 1) : all.slice(0, place)).map((one) => one.id),
          );
          const rest = expected.filter((one) => later.has(one.id));
          expect(await conversations.page(ASK, id, { limit, order, after })).toEqual({
            items: rest.slice(0, limit),
            hasMore: rest.length > limit,
          });
        }
      },
    );
    await fc.assert(property, { numRuns: runs(8) });
  });

  it('end a page early if they are very long', async () => {
    const conversations = open(harness());
    const { id } = await conversations.create(ASK, { items: [], metadata: {} });
    const long = message('x'.repeat(5 * 1024 * 1024));
    for (let count = 0; count < 5; count += 1) await conversations.addItems(ASK, id, [long]);
    const bytes: number[] = [];
    const ask = { ...ASK, onBytes: (more: number) => void bytes.push(more) };
    const first = await conversations.page(ask, id, { limit: 2, order: 'asc', after: null });
    expect([first.items.length, first.hasMore, bytes.length]).toEqual([2, true, 3]);
    const whole = await conversations.page(ASK, id, { limit: 100, order: 'asc', after: null });
    expect([whole.items.length, whole.hasMore]).toEqual([3, true]);
    const after = whole.items.at(-1)?.id ?? null;
    const last = await conversations.page(ASK, id, { limit: 100, order: 'asc', after });
    expect([last.items.length, last.hasMore]).toEqual([2, false]);
  });

  it('have unknown cursors, and belong to their conversation and owner', async () => {
    const conversations = open(harness());
    const { id } = await conversations.create(ASK, { items: [message('a')], metadata: {} });
    const { items } = await conversations.page(ASK, id, { limit: 1, order: 'asc', after: null });
    const after = items[0]?.id ?? '';
    const other = await conversations.create(ASK, { items: [message('b')], metadata: {} });
    const page = (ask: typeof ASK, of: string, cursor: string) =>
      conversations.page(ask, of, { limit: 1, order: 'asc', after: cursor }).catch((error: unknown) => error);
    const refused = { failure: { kind: 'invalid_value', param: 'after' } };
    expect(await page(ASK, other.id, after)).toMatchObject(refused);
    expect(await page(ASK, id, 'msg_made_up')).toMatchObject(refused);
    const stranger = { ...ASK, caller: 'bob' };
    expect(await page(stranger, id, after)).toMatchObject({ failure: { kind: 'unknown_conversation' } });
    await expect(conversations.item(ASK, other.id, after)).rejects.toMatchObject({
      failure: { kind: 'unknown_item', message: `Item with id '${after}' not found.` },
    });
  });
});
