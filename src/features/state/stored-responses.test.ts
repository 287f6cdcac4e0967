import { expect, it } from 'vitest';

import { DAY, describeStores, type StoreHarness } from '../../../test/support/store-harness.ts';
import { saidMessage } from '../../../test/support/item-events.ts';
import type { Item, Produced } from '../../canonical/request/item.ts';
import { systemAmbient } from '../../kit/ambient.ts';
import type { Onto, Position } from './store/port.ts';
import { Chains } from './chains.ts';
import { RecentItems, createReferredItems } from './referred-items.ts';
import { responseBody, turnBody, type StoredTurn } from './stored-turn.ts';
import { createStoredResponses } from './stored-responses.ts';

const ASK = { signal: new AbortController().signal, onBytes() {} };
const asked: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] };

const newKey = (): string => systemAmbient.ids.mint('x').slice(2);
const said = (): Produced => saidMessage(`msg_${newKey()}`, 'hello');

/** What stands between the HTTP routes and the store. */
const opened = ({ store, clock }: StoreHarness) => {
  const options = { maxBytes: 1_000_000, maxAgeMs: DAY, clock, onChange() {} };
  const chains = new Chains({ store, ...options });
  const items = createReferredItems(store, new RecentItems(options));
  return { responses: createStoredResponses({ store, chains, items }), items };
};

/** Writes a response as the end of a turn does. */
const write = async (
  { store, clock }: StoreHarness,
  turn: Partial<StoredTurn>,
  { after = null, body = {} }: { readonly after?: Position | null; readonly body?: object } = {},
) => {
  const key = newKey();
  const onto: Onto =
    after === null
      ? { kind: 'new', segment: newKey(), cacheKey: 'c' }
      : { kind: 'after', at: after, fork: newKey(), cacheKey: 'c' };
  const id = `resp_${key}`;
  const whole = { input: [asked], output: [said()], ...turn };
  const at = await store.turns.commit({
    owner: 'alice',
    onto,
    turn: {
      key,
      body: JSON.stringify(turnBody(whole)),
      itemIds: whole.output.map((item) => item.id),
    },
    response: {
      id,
      status: 'completed',
      isBackground: false,
      createdAt: clock.time,
      expiresAt: clock.time + DAY,
      body: JSON.stringify({ ...responseBody({ object: { id, output: [] } }), ...body }),
    },
    expiresAt: clock.time + DAY,
  });
  return { id, key, at, ...whole };
};

const unknown = (id: string) => ({
  failure: { kind: 'unknown_response', status: 404, message: `Response with id '${id}' not found.` },
});

describeStores(
  'stored responses',
  (open) => {
    it('are found with their output, as the client saw it', async () => {
      const { responses } = opened(open());
      const { id, output } = await write(open(), {});
      expect(await responses.find('alice', id, ASK)).toMatchObject({
        object: { id, output: [] },
        items: output,
        include: [],
        row: { status: 'completed' },
      });
      const shown = [said()];
      const arranged = await write(open(), {}, { body: { shown, include: ['x'] } });
      expect(await responses.find('alice', arranged.id, ASK)).toMatchObject({ items: shown, include: ['x'] });
    });

    it('count what they load', async () => {
      const { responses } = opened(open());
      const { id } = await write(open(), {});
      let bytes = 0;
      const limits = { ...ASK, onBytes: (more: number) => (bytes += more) };
      await responses.find('alice', id, limits);
      expect(bytes).toBeGreaterThan(200);
      const full = {
        ...ASK,
        onBytes() {
          throw new Error('full');
        },
      };
      await expect(responses.find('alice', id, full)).rejects.toThrow('full');
      await expect(responses.inputItems('alice', id, full)).rejects.toThrow('full');
    });

    it('are unknown to others, after they were deleted, and after their time', async () => {
      const harness = open();
      const { responses } = opened(harness);
      const [deleted, expired] = [await write(harness, {}), await write(harness, {})];
      const calls = (owner: string, id: string) => [
        responses.find(owner, id, ASK),
        responses.inputItems(owner, id, ASK),
        responses.delete(owner, id),
      ];
      const expectUnknown = async (owner: string, id: string): Promise<void> => {
        for (const call of calls(owner, id)) await expect(call).rejects.toMatchObject(unknown(id));
      };
      await expectUnknown('bob', deleted.id);
      await responses.delete('alice', deleted.id);
      await expectUnknown('alice', deleted.id);
      harness.clock.time += DAY + 1;
      await expectUnknown('alice', expired.id);
      harness.clock.time -= DAY + 1;
    });

    it('take their items with them when they are deleted', async () => {
      const harness = open();
      const { responses, items } = opened(harness);
      const { id, output } = await write(harness, {});
      const [item] = output;
      const ids = output.map((one) => one.id);
      if (item !== undefined) items.remember('alice', item);
      expect((await items.load({ caller: 'alice', ...ASK }, ids)).size).toBe(1);
      await responses.delete('alice', id);
      expect((await items.load({ caller: 'alice', ...ASK }, ids)).size).toBe(0);
    });

    it('list the conversation before them and their own input, without deleted items', async () => {
      const harness = open();
      const { responses } = opened(harness);
      const first = await write(harness, {});
      const second = await write(harness, {}, { after: first.at });
      const gone = said();
      const third = await write(harness, { output: [gone], hidden: [gone.id] }, { after: second.at });
      const last = await write(harness, {}, { after: third.at });
      const list = async (id: string) =>
        (await responses.inputItems('alice', id, ASK)).map((entry) => entry.id);
      const [own] = first.output;
      expect(await list(first.id)).toEqual([`msg_${first.key}0000`]);
      expect(await list(second.id)).toEqual([`msg_${first.key}0000`, own?.id, `msg_${second.key}0000`]);
      expect(await list(last.id)).toHaveLength(6);
    });

    it('report a row that cannot be read', async () => {
      const { responses } = opened(open());
      const { id } = await write(open(), {}, { body: { form: 0 } });
      await expect(responses.find('alice', id, ASK)).rejects.toMatchObject({
        failure: { kind: 'store_corrupt', message: `The stored response ${id} cannot be read.` },
      });
    });
  },
  { kinds: ['sqlite'] },
);

it('are unknown if nothing is stored', async () => {
  const responses = createStoredResponses(null);
  const message = "Response with id 'resp_1' not found. This server stores nothing (PROXY_STORE=off).";
  const refusal = { failure: { ...unknown('resp_1').failure, message } };
  await expect(responses.find('alice', 'resp_1', ASK)).rejects.toMatchObject(refusal);
  await expect(responses.delete('alice', 'resp_1')).rejects.toMatchObject(refusal);
});
