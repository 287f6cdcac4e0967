import { expect, it } from 'vitest';

import { FAILURES } from '../../src/canonical/failure.ts';

/** Clients branch on these. A change here is a change of the API: name it in the changelog. */
it('has these error codes, each with its status and type', () => {
  const visible = Object.entries(FAILURES).map(([code, { status, type }]) => `${code} ${status} ${type}`);
  expect(visible.toSorted()).toEqual([]);
});
