import { expect, it } from 'vitest';

import { Detour, DETOUR_MS } from './relay-bypass.ts';

it('the way around is taken after three pages in a row, for a while', () => {
  let now = 1_000;
  const detour = new Detour({ now: () => now });
  expect([detour.blocked(), detour.blocked(), detour.isOpen()]).toEqual([false, false, false]);
  detour.served();
  expect([detour.blocked(), detour.blocked(), detour.blocked(), detour.isOpen()]).toEqual([
    false,
    false,
    true,
    true,
  ]);
  now += DETOUR_MS;
  expect(detour.isOpen()).toBe(false);
});
