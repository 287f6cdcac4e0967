import { describe, expect, it } from 'vitest';

import { FairLine } from './fair-line.ts';

const lineOf = (...names: readonly string[]): FairLine<string> => {
  const line = new FairLine<string>();
  // "a1" belongs to the key "a".
  for (const name of names) line.join(name.slice(0, 1), name);
  return line;
};

/** All waiting entries in order of service. */
const served = (line: FairLine<string>): string[] => {
  const order: string[] = [];
  for (let [first] = line.heads(); first !== undefined; [first] = line.heads()) {
    line.serve(first.slice(0, 1), first);
    order.push(first);
  }
  return order;
};

describe('FairLine', () => {
  it('serves one key in order', () => {
    expect(served(lineOf('a1', 'a2', 'a3'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('alternates between keys', () => {
    expect(served(lineOf('a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'))).toEqual([
      'a1',
      'b1',
      'c1',
      'a2',
      'b2',
      'a3',
      'a4',
    ]);
  });

  it('puts a served key after one that arrived since', () => {
    const line = lineOf('a1', 'a2', 'a3');
    line.serve('a', 'a1');
    line.join('b', 'b1');
    line.serve('a', 'a2');
    expect(served(line)).toEqual(['b1', 'a3']);
  });

  it('removes an entry that leaves, and keeps the turn of its key', () => {
    const line = lineOf('a1', 'b1', 'a2', 'b2', 'c1');
    line.leave('b', 'b1');
    line.leave('c', 'c1');
    line.leave('c', 'c1');
    expect([line.newestOf('a'), line.newestOf('c'), line.has('b'), line.has('c')]).toEqual([
      'a2',
      undefined,
      true,
      false,
    ]);
    expect(served(line)).toEqual(['a1', 'b2', 'a2']);
  });
});
