import { describe, expect, it } from 'vitest';

import { refused } from '../../../../test/support/refused.ts';
import type { Item } from '../../../canonical/request/item.ts';
import { readInput } from './input-items.ts';

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

  it('is rejected if repeated, so that a small body cannot become a large one', () => {
    expect(refused(() => read(reference('msg_1'), reference('msg_1')))).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'input[2]',
      message:
        "Duplicate item found with id msg_1 at 'input[2]'. Remove duplicate items from your input and try again.",
    });
  });

  it('must have an id', () => {
    expect(refused(() => read({ type: 'item_reference' }))).toMatchObject({ param: 'input[1].id' });
    expect(refused(() => read({ id: 'msg_1', text: 'x' }))).toMatchObject({ param: 'input[1].type' });
  });
});
