import { expect, it } from 'vitest';

import type { Item } from '../../src/canonical/request/item.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { AllConversations } from '../../src/features/state/all-conversations.ts';
import { Chains } from '../../src/features/state/chains.ts';
import { ConversationLocks, createOpenConversation } from '../../src/features/state/conversation-locks.ts';
import { Conversations } from '../../src/features/state/conversations.ts';
import { RecentItems, createReferredItems } from '../../src/features/state/referred-items.ts';
import { StoredChats } from '../../src/features/state/stored-chats.ts';
import { createTurnStates } from '../../src/features/state/turn-states.ts';
import type { StateStore } from '../../src/features/state/store/port.ts';
import type { KeptResponse } from '../../src/turns/api.ts';
import type { FinishedAnswer, TurnState } from '../../src/turns/turn-state.ts';
import { DAY, describeStores, type StoreHarness } from '../support/store-harness.ts';

/** Conversations in a database: how long they live, and writers that lost their lock. */

const said = (text: string, role: 'user' | 'assistant' = 'user'): Item => ({
  kind: 'message',
  role,
  parts: [{ kind: 'text', text }],
});

const textOf = (item: Item): string =>
  item.kind === 'message' && item.parts[0]?.kind === 'text' ? item.parts[0].text : '';

/** What an instance of the server has. */
const open = ({ clock }: StoreHarness, store: StateStore) => {
  const ambient = { ids: systemAmbient.ids, clock };
  const memory = { maxBytes: 1024 * 1024, clock, onChange() {} };
  const chains = new Chains({ store, ...memory });
  const deps = { store, ambient, ttlMs: DAY };
  const locks = new ConversationLocks({
    store,
    ambient,
    waitMs: 5_000,
    onError: (error) => {
      throw error;
    },
  });
  const conversations = new Conversations({ ...deps, locks });
  const referred = createReferredItems(store, new RecentItems({ ...memory, maxAgeMs: DAY }));
  const states = createTurnStates({
    kept: {
      store,
      ttlMs: DAY,
      conversations,
      chains,
      items: referred,
      all: new AllConversations({ store, locks, chains, items: referred }),
      openConversation: createOpenConversation({ store, chains, locks }),
      chats: new StoredChats({ store, clock, ttlMs: DAY }),
    },
    ambient,
    onUnstored: (error) => {
      throw error;
    },
  });
  const ask = { caller: 'alice', signal: new AbortController().signal, onBytes() {}, local: null };
  const begin = (id: string): Promise<TurnState> =>
    states.open({ ...ask, references: { continues: { kind: 'conversation', id } } });
  const texts = async (id: string): Promise<readonly string[]> => {
    const { items } = await conversations.page(ask, id, { limit: 100, order: 'asc', after: null });
    return items.map(({ item }) => textOf(item));
  };
  const after = (id: string): Promise<TurnState> =>
    states.open({ ...ask, references: { continues: { kind: 'response', id } } });
  return { ask, conversations, begin, after, texts };
};

const answerOf = (text: string): FinishedAnswer => {
  const keeps: KeptResponse = {
    kind: 'response',
    id: systemAmbient.ids.mint('resp'),
    createdAt: 1,
    isStored: true,
    input: [said(text)],
    include: [],
    queued: null,
  };
  const made = [{ ...said(`re: ${text}`, 'assistant'), id: systemAmbient.ids.mint('msg') }] as never;
  const reply = { items: made, outcome: { kind: 'completed' }, usage: null, endedAt: 1 } as never;
  return {
    keeps,
    cacheKey: 'cache',
    turns: [{ made, reply }],
    project: () => ({ id: keeps.id, status: 'completed' }),
    signal: new AbortController().signal,
  };
};

describeStores('a conversation', (harness) => {
  it('lives from the last time that something was written to it', async () => {
    const { clock, store } = harness();
    const { ask, conversations, begin } = open(harness(), store);
    const { id } = await conversations.create(ask, { items: [said('a')], metadata: {} });
    const later = (days: number): void => void (clock.time += days * DAY);
    const isThere = (): Promise<boolean> =>
      conversations.find('alice', id).then(
        () => true,
        () => false,
      );
    later(0.9);
    await conversations.addItems(ask, id, [said('b')]);
    later(0.9);
    await conversations.update('alice', id, { a: 'b' });
    later(0.9);
    await (await begin(id)).record(answerOf('c'));
    later(0.9);
    expect(await isThere()).toBe(true);
    // Reading does not count.
    later(0.2);
    expect(await isThere()).toBe(false);
    await expect(begin(id)).rejects.toMatchObject({ failure: { kind: 'unknown_conversation' } });
  });

  it('gets every turn of writers that do not know of each other, because a lease was lost', async () => {
    const { clock, store, openAnother } = harness();
    const [one, other] = [open(harness(), store), open(harness(), await openAnother())];
    const { id } = await one.conversations.create(one.ask, { items: [], metadata: {} });
    const first = await one.begin(id);
    clock.time += 11_000;
    const second = await other.begin(id);
    expect(await second.record(answerOf('second'))).toBe(true);
    expect(await first.record(answerOf('first'))).toBe(true);
    expect(await one.texts(id)).toEqual(['second', 're: second', 'first', 're: first']);
  });

  it('is in memory after an answer, until another process changes it', async () => {
    const { store, openAnother } = harness();
    const loads: number[] = [];
    const counted: StateStore = {
      ...store,
      turns: {
        ...store.turns,
        upTo(owner, at) {
          loads.push(at.pos);
          return store.turns.upTo(owner, at);
        },
      },
    };
    const one = open(harness(), counted);
    const other = open(harness(), await openAnother());
    const { id } = await one.conversations.create(one.ask, { items: [said('a')], metadata: {} });
    const read = async (text: string): Promise<readonly string[]> => {
      const state = await one.begin(id);
      await state.record(answerOf(text));
      return state.loaded.chain.map(textOf);
    };
    expect(await read('b')).toEqual(['a']);
    expect(await read('c')).toEqual(['a', 'b', 're: b']);
    expect(loads).toEqual([0]);
    const { items } = await other.conversations.page(other.ask, id, {
      limit: 100,
      order: 'asc',
      after: null,
    });
    await other.conversations.deleteItem(other.ask, id, items[1]?.id ?? '');
    expect(await read('d')).toEqual(['a', 're: b', 'c', 're: c']);
    await other.conversations.addItems(other.ask, id, [said('e')]);
    expect((await read('f')).slice(-3)).toEqual(['d', 're: d', 'e']);
    expect(loads).toEqual([0, 3, 5]);
    // A response that is continued by itself is loaded each time.
    const { id: itemId } = items[2] ?? { id: '' };
    const late = answerOf('g');
    await (await one.begin(id)).record(late);
    const again = async () => (await one.after(late.keeps.id)).loaded.chain.map(textOf);
    expect(await again()).toContain('re: b');
    await other.conversations.deleteItem(other.ask, id, itemId);
    expect(await again()).not.toContain('re: b');
  });

  it('fails an answer if it was deleted in the meantime', async () => {
    const { store } = harness();
    const { ask, conversations, begin } = open(harness(), store);
    const { id } = await conversations.create(ask, { items: [], metadata: {} });
    const state = await begin(id);
    await store.conversations.delete('alice', id);
    await expect(state.record(answerOf('late'))).rejects.toMatchObject({
      failure: { kind: 'unknown_conversation', message: `Conversation with id '${id}' not found.` },
    });
  });
});
