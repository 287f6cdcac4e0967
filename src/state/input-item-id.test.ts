import { expect, it } from 'vitest';

import { inputItemId, readInputItemId } from './input-item-id.ts';

const KEY = '0123456789abcdef'.repeat(2);
const MESSAGE = { kind: 'message', role: 'user', parts: [] } as const;

// A WebSocket may store what it remembered of many requests as one turn.
it.each([0, 9_999, 65_535, 65_536, 200_000])('the id of item %i names its turn and its place', (index) => {
  expect(readInputItemId(inputItemId(KEY, index, MESSAGE))).toEqual({ turnKey: KEY, index });
});

it.each([
  '',
  'msg_1',
  `msg_${KEY}`,
  `msg_${KEY}000`,
  `msg_${KEY}${KEY}`,
  `MSG_${KEY}0000`,
  `msg_${KEY}0000\n`,
])('%j is not the id of an input item', (id) => {
  expect(readInputItemId(id)).toBe(null);
});
