import { expect, it } from 'vitest';

import { forgetOldest } from './forget-oldest.ts';

it('drops the oldest entry above the limit', () => {
  const kept = new Map([
    ['a', 1],
    ['b', 2],
  ]);
  forgetOldest(kept, 2);
  expect([...kept.keys()]).toEqual(['a', 'b']);
  kept.set('c', 3);
  forgetOldest(kept, 2);
  expect([...kept.keys()]).toEqual(['b', 'c']);
});

it('accepts any key, and sets', () => {
  const kept = new Set([undefined, '', 0]);
  forgetOldest(kept, 2);
  expect([...kept]).toEqual(['', 0]);
});
