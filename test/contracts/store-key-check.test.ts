import { expect, it } from 'vitest';

import { ConversationLocks } from '../../src/features/state/conversation-locks.ts';
import { Conversations } from '../../src/features/state/conversations.ts';
import { createStoredResponses } from '../../src/features/state/stored-responses.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { commit, DAY, describeStores, KEYS, turnOf, type StoreHarness } from '../support/store-harness.ts';

const WRONG = 'it was encrypted with a key that is not in PROXY_STORE_KEY';

const forgetCheck = (harness: StoreHarness) => harness.sql("delete from memory where kind = 'store-check'");

describeStores(
  'a database that was encrypted',
  (open) => {
    it('is opened with its key only, alone or among others', async () => {
      const harness = open();
      await expect(harness.openAnother({ keys: [KEYS[1]] })).rejects.toThrow(WRONG);
      await expect(harness.openAnother({ keys: [] })).rejects.toThrow(WRONG);
      await harness.openAnother({ keys: [KEYS[0], KEYS[1]] });
      await harness.openAnother({ keys: [KEYS[0]] });
      // A rotation: from now on the new key is needed.
      await harness.openAnother({ keys: [KEYS[1], KEYS[0]] });
      await harness.openAnother({ keys: [KEYS[1]] });
      await expect(harness.openAnother({ keys: [KEYS[0]] })).rejects.toThrow(WRONG);
      await harness.openAnother({ keys: [KEYS[0], KEYS[1]] });
    });

    it('is checked by what was written last, if an earlier version wrote it', async () => {
      const harness = open();
      harness.clock.time += 1_000;
      await commit(harness);
      await forgetCheck(harness);
      await expect(harness.openAnother({ keys: [KEYS[2]] })).rejects.toThrow(WRONG);
      await harness.openAnother({ keys: [KEYS[0]] });
      await expect(harness.openAnother({ keys: [KEYS[2]] })).rejects.toThrow(WRONG);
    });

    it('can be used after its key was lost: what cannot be read can be deleted', async () => {
      const harness = open();
      const { clock } = harness;
      const first = await commit(harness);
      const second = await commit(harness, first.at);
      const id = harness.newId('conv');
      const row = { id, owner: 'alice', createdAt: clock.time, body: '{}', cacheKey: 'c' };
      const expiresAt = clock.time + DAY;
      await harness.store.conversations.create({ ...row, expiresAt, turn: turnOf(harness.newId('key')) });
      const store = await harness.openWithoutKey([KEYS[2]]);
      const responses = createStoredResponses({
        store,
        chains: { drop() {} } as never,
        items: { forget() {} } as never,
      });
      await expect(store.responses.find('alice', second.responseId)).rejects.toThrow('cannot be read');
      await responses.delete('alice', second.responseId);
      await responses.delete('alice', first.responseId);
      expect(await store.responses.at('alice', first.responseId)).toBeNull();
      const locks = new ConversationLocks({
        store,
        ambient: systemAmbient,
        waitMs: 1_000,
        onError: (error) => expect.fail(String(error)),
      });
      const conversations = new Conversations({ store, locks, ambient: systemAmbient, ttlMs: DAY });
      const ask = { caller: 'alice', signal: new AbortController().signal };
      await conversations.delete(ask, id);
      expect(await store.conversations.find('alice', id)).toBeNull();
    });
  },
  { keys: [KEYS[0]] },
);

describeStores('a database in plain text', (open) => {
  it('can be encrypted from now on, and then needs the key', async () => {
    const harness = open();
    await commit(harness);
    await harness.openAnother({ keys: [KEYS[0]] });
    await expect(harness.openAnother({ keys: [] })).rejects.toThrow(WRONG);
  });
});
