import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FairBudget, type FairBudgetOptions } from './fair-budget.ts';

interface Holder {
  readonly name: string;
  readonly key: string;
}

type First = NonNullable<FairBudgetOptions<Holder>['first']>;

/** "a1" belongs to the key "a". */
const holder = (name: string): Holder => ({ name, key: name.slice(0, 1) });

const newest = (own: readonly Holder[]) => own.at(-1);
const oldest = (own: readonly Holder[]) => own[0];
/** A newcomer takes nothing from its own key. */
const others = (own: readonly Holder[], asking: Holder) => (own.includes(asking) ? asking : own[0]);

const budgetOf = (held: Readonly<Record<string, number>>, first: First = newest, capacity = 12) => {
  const budget = new FairBudget<Holder>({ capacity, first });
  for (const [name, size] of Object.entries(held)) budget.hold(holder(name), size);
  return budget;
};

describe('FairBudget', () => {
  it.each<[string, Record<string, number>, string, number, First, readonly string[] | null]>([
    ['there is room', { a1: 8 }, 'b1', 4, newest, []],
    ['a key alone may have everything', {}, 'a1', 12, newest, []],
    ['a key alone has no right to more', { a1: 12 }, 'a2', 1, newest, null],
    ['the key above its share gives way', { a1: 4, a2: 4, a3: 4 }, 'b1', 4, newest, ['a3']],
    ['its oldest gives way', { a1: 4, a2: 4, a3: 4 }, 'b1', 4, oldest, ['a1']],
    ['as many as needed give way', { a1: 4, a2: 4, a3: 4 }, 'b1', 6, newest, ['a3', 'a2']],
    ['the key with the most gives way first', { a1: 5, b1: 3, b2: 4 }, 'c1', 2, newest, ['b2']],
    ['keys with the same share keep it', { a1: 6, b1: 6 }, 'b2', 1, newest, null],
    ['keys within their share keep it', { a1: 4, b1: 4, c1: 4 }, 'c2', 1, newest, null],
    ['a newcomer takes the place of another key', { a1: 6, b1: 3, b2: 3 }, 'c1', 1, others, ['a1']],
    ['a newcomer takes no place of its own key', { a1: 4, a2: 4, b1: 4 }, 'a3', 1, others, null],
    ['a key that asks for more than others have', { a1: 7, b1: 5 }, 'b2', 4, newest, null],
    ['none of them can give way', { a1: 12 }, 'b1', 1, () => undefined, null],
  ])('%s', (_, held, name, more, first, expected) => {
    const yielding = budgetOf(held, first).yieldingTo(holder(name), more);
    expect(yielding?.map((one) => one.name) ?? null).toEqual(expected);
  });

  it.each<[Record<string, number>, string, number, boolean]>([
    [{}, 'a', 100, true],
    [{ a1: 6 }, 'a', 6, true],
    [{ a1: 6, b1: 1 }, 'a', 1, false],
    [{ a1: 5, b1: 1 }, 'a', 1, true],
    [{ a1: 6, b1: 6 }, 'c', 5, true],
  ])('with %j, the key %s is within its share with %i more: %s', (held, key, more, expected) => {
    expect(budgetOf(held).isWithinShare(key, more)).toBe(expected);
  });

  it('leaves the last place to administrators, unless it is the only one', () => {
    const isAdmin = (key: string): boolean => key === 'z';
    const fits = (capacity: number, held: number): readonly boolean[] => {
      const budget = new FairBudget<Holder>({ capacity, isAdmin });
      budget.hold(holder('a1'), held);
      return [budget.fits('b', 1), budget.fits('z', 1)];
    };
    expect([fits(3, 1), fits(3, 2), fits(3, 3), fits(1, 0)]).toEqual([
      [true, true],
      [false, true],
      [false, false],
      [true, true],
    ]);
  });

  it('law: the total is what is held, and what gives way is enough and never comes from a key below its share', () => {
    const name = fc.constantFrom('a1', 'a2', 'b1', 'b2', 'c1');
    const held = fc.dictionary(name, fc.integer({ min: 1, max: 6 }));
    const run = (sizes: Readonly<Record<string, number>>, asking: string, more: number): void => {
      const budget = budgetOf(sizes, newest);
      const keys = new Set([...Object.keys(sizes), asking].map((one) => one.slice(0, 1)));
      const yielding = budget.yieldingTo(holder(asking), more) ?? [];
      for (const one of yielding) {
        if (one.key !== asking.slice(0, 1)) expect(budget.heldBy(one.key)).toBeGreaterThan(12 / keys.size);
        budget.release(one);
      }
      if (yielding.length > 0) expect(budget.fits(asking.slice(0, 1), more)).toBe(true);
      const left = ['a', 'b', 'c'].reduce((sum, key) => sum + budget.heldBy(key), 0);
      expect(budget.total).toBe(left);
    };
    fc.assert(fc.property(held, name, fc.nat(12), run));
  });
});
