import { expect, it } from 'vitest';

import { read, write } from '../operation.ts';
import { JobLine } from './group-commit.ts';

const MB = 1024 * 1024;

const READ = 'turns.byKey';
const WRITE = 'turns.commit';
const OPERATIONS = new Map([
  [READ, read(async () => null)],
  [WRITE, write(async () => null)],
]);

/** What runs, in order: each entry is a transaction. */
const orderOf = (...jobs: readonly (readonly [key: string, name: string, chars?: number])[]) => {
  const line = new JobLine(OPERATIONS);
  for (const [id, [key, name, chars = 1]] of jobs.entries()) {
    line.add({ kind: 'run', id, name, key, chars, args: [], now: 0, deadline: 0n });
  }
  const order: string[] = [];
  for (let next = line.next(); next.length > 0; next = line.next()) {
    order.push(next.map(({ id, key }) => `${key}${id}`).join(' '));
  }
  return order;
};

it('a key that reads much delays another by one operation', () => {
  expect(orderOf(['a', READ], ['a', READ], ['a', READ], ['b', READ], ['b', WRITE])).toEqual([
    'a0',
    'b3',
    'a1',
    'b4',
    'a2',
  ]);
});

it('writes of all keys share a transaction, up to a size', () => {
  expect(orderOf(['a', WRITE], ['b', WRITE], ['a', WRITE], ['b', READ], ['b', WRITE])).toEqual([
    'a0 b1 a2',
    'b3',
    'b4',
  ]);
  expect(orderOf(['a', WRITE, 3 * MB], ['a', WRITE, 3 * MB], ['a', WRITE, 3 * MB], ['b', WRITE])).toEqual([
    'a0 b3 a1',
    'a2',
  ]);
});

it('operations of a key keep their order', () => {
  expect(orderOf(['a', WRITE], ['a', READ], ['a', WRITE], ['a', READ])).toEqual(['a0', 'a1', 'a2', 'a3']);
});
