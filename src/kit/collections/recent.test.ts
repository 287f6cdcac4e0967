import { describe, expect, it } from 'vitest';

import { Recent } from './recent.ts';

const at = (now: number) => ({ now: () => now });

describe('Recent', () => {
  it('returns values until they expire', () => {
    let now = 0;
    const recent = new Recent<string>(10, 100, { now: () => now });
    recent.set('a', 'x');
    now = 99;
    expect(recent.get('a')).toBe('x');
    now = 100;
    expect(recent.get('a')).toBeUndefined();
  });

  it('drops the oldest entry above the limit; setting a key again renews it', () => {
    const recent = new Recent<number>(2, 100, at(0));
    recent.set('a', 1);
    recent.set('b', 2);
    recent.set('a', 3);
    recent.set('c', 4);
    expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([3, undefined, 4]);
  });
});
