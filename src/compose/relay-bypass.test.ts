import { expect, it } from 'vitest';

import { RelayBypass, BYPASS_MS } from './relay-bypass.ts';

it('opens for a while after three block pages in a row', () => {
  let now = 1_000;
  const bypass = new RelayBypass({ now: () => now });
  expect([bypass.blocked(), bypass.blocked(), bypass.isOpen()]).toEqual([false, false, false]);
  bypass.served();
  expect([bypass.blocked(), bypass.blocked(), bypass.blocked(), bypass.isOpen()]).toEqual([
    false,
    false,
    true,
    true,
  ]);
  now += BYPASS_MS;
  expect(bypass.isOpen()).toBe(false);
});
