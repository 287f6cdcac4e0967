import { expect, it } from 'vitest';

import { approvalsInMemory } from './used-approvals.ts';

it('remembers approvals of each owner for an hour', async () => {
  let now = 0;
  const approvals = approvalsInMemory({ now: () => now });
  const use = (owner: string, id = 'a') => approvals.useApproval(owner, id, 0);
  expect([await use('one'), await use('one'), await use('other'), await use('one', 'b')]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  await approvals.giveBackApproval('one', 'a');
  expect(await use('one')).toBe(true);
  now = 3_599_999;
  expect(await use('one')).toBe(false);
  now = 3_600_000;
  expect(await use('one')).toBe(true);
});
