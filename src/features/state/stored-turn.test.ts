import { expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { atOnce } from '../../kit/async/event-loop.ts';
import { inputItemId, readInputItemId, readStoredTurn, type StoredTurn, turnBody } from './stored-turn.ts';

const turnOf = (text: string): StoredTurn => ({
  input: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] }],
  output: [],
});

const rowOf = (turn: object) => ({ key: 'k', body: JSON.stringify(turn) });

/** How often other work may run before the turn is read. */
const pausesOf = (turn: StoredTurn): number => {
  const steps = readStoredTurn(rowOf(turnBody(turn)));
  let pauses = 0;
  while (steps.next().done !== true) pauses += 1;
  return pauses;
};

it('reads a large turn in slices, so that a key that reads megabytes does not hold up others', () => {
  const large = turnOf('word "x"\n'.repeat(600_000));
  expect(atOnce(readStoredTurn(rowOf(turnBody(large))))).toEqual(large);
  expect([pausesOf(turnOf('hi')), pausesOf(large) > 50]).toEqual([0, true]);
});

it.each([['not JSON'], ['[]'], [`{"form":1,"input":[],"output":[],"x":"${'x'.repeat(100_000)}`]])(
  'reports a damaged turn without its content: %.20s',
  (body) => {
    const read = (): unknown => {
      try {
        return atOnce(readStoredTurn({ key: 'k', body }));
      } catch (error) {
        return failureOf(error).message;
      }
    };
    expect(read()).toBe('The stored turn k cannot be read.');
  },
);

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
