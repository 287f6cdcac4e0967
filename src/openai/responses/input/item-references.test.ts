import { describe, expect, it } from 'vitest';

import { refused } from '../../../../test/support/refused.ts';
import type { Item } from '../../../canonical/request/item.ts';
import { readInput, referencesIn } from './input-items.ts';

const user = { role: 'user', content: 'hi' };
const said: Item = {
  kind: 'message',
  role: 'assistant',
  parts: [{ kind: 'text', text: 'hello' }],
  id: 'msg_1',
};
const silent: Item = { ...said, id: 'msg_2', parts: [{ kind: 'text', text: '' }] };
const KNOWN: Readonly<Record<string, Item>> = { msg_1: said, msg_2: silent };

const read = (...references: readonly unknown[]) =>
  readInput([user, ...references], (id) => KNOWN[id] ?? null);
const reference = (id: string) => ({ type: 'item_reference', id });

describe('an item reference', () => {
  it('is replaced by its item, also without a type', () => {
    const expected = { items: [{}, said], places: ['input[0]', 'input[1]'], unread: [] };
    expect(read(reference('msg_1'))).toMatchObject(expected);
    expect(read({ id: 'msg_1' })).toMatchObject(expected);
    expect(read({ id: 'msg_1', type: null })).toMatchObject(expected);
  });

  it('to an empty message is dropped, even if the message is no longer known', () => {
    const { items, unread } = read(reference('msg_2'), reference('msg_empty_4f'), reference('msg_empty_4f'));
    expect([items.length, unread]).toEqual([1, []]);
  });

  it.each(['fc_gone', 'rs_gone'])('to an unknown item is rejected: %s', (id) => {
    expect(refused(() => read(reference(id)))).toMatchObject({
      kind: 'unknown_item',
      status: 404,
      param: 'input',
      message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    });
  });

  it('is rejected by a server without a store, which says how to do without', () => {
    expect(refused(() => readInput([user, reference('msg_1')], null))).toMatchObject({
      kind: 'unknown_item',
      status: 404,
      param: 'input',
      message:
        "Item with id 'msg_1' not found. This server stores nothing (PROXY_STORE=off): send the item itself. Most clients do that with `store` set to false.",
    });
  });

  it('is rejected if repeated, so that a small body cannot become a large one', () => {
    expect(refused(() => read(reference('msg_1'), reference('msg_1')))).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'input[2]',
      message:
        "Duplicate item found with id msg_1 at 'input[2]'. Remove duplicate items from your input and try again.",
    });
  });

  it('is not looked up for an item that has content of its own', () => {
    const known = { ...said, id: 'msg_0123456789abcdef' };
    const sent = { type: 'message', role: 'assistant', content: 'something else', id: known.id };
    expect(readInput([user, sent], () => known).items[1]).toEqual({
      ...known,
      parts: [{ kind: 'text', text: 'something else' }],
    });
  });

  it('must have an id', () => {
    expect(refused(() => read({ type: 'item_reference' }))).toMatchObject({ param: 'input[1].id' });
    expect(refused(() => read({ id: 'msg_1', text: 'x' }))).toMatchObject({ param: 'input[1].type' });
  });
});

describe('reasoning without content', () => {
  const id = 'rs_0123456789abcdef';
  const bare = { type: 'reasoning', id, summary: [] };
  const thought: Item = { kind: 'reasoning', id, summary: ['Hm.'], encryptedContent: 'sealed' };
  const recall = (asked: string): Item | null => (asked === id ? thought : null);

  it.each([bare, { ...bare, content: [], encrypted_content: null, status: 'completed' }])(
    'refers to the stored item: %j',
    (item) => {
      expect(referencesIn([user, item])).toEqual([id]);
      expect(readInput([user, item], recall).items[1]).toEqual(thought);
    },
  );

  it('is rejected if it is unknown', () => {
    expect(refused(() => readInput([user, bare], () => null))).toMatchObject({
      kind: 'unknown_item',
      param: 'input',
    });
    const other = { ...said, id } as Item;
    expect(refused(() => readInput([user, bare], () => other))).toMatchObject({ kind: 'unknown_item' });
  });

  it('is sent as it is if nothing is stored, or if its id is one that repeats', () => {
    expect(readInput([user, bare]).items[1]).toEqual({ kind: 'reasoning', id, summary: [] });
    const numbered = { ...bare, id: 'rs_1' };
    expect(referencesIn([user, numbered])).toEqual([]);
    expect(readInput([user, numbered], () => null).items[1]).toMatchObject({ id: 'rs_1' });
  });

  it('is not looked up if it has a summary, a text or encrypted content', () => {
    for (const more of [
      { summary: [{ type: 'summary_text', text: 'a' }] },
      { content: [{ type: 'reasoning_text', text: 'a' }] },
      { encrypted_content: 'other' },
    ]) {
      expect(referencesIn([user, { ...bare, ...more }])).toEqual([]);
      expect(readInput([user, { ...bare, ...more }], recall).items[1]).not.toEqual(thought);
    }
  });
});
