import { expect, it } from 'vitest';

import { expectMatchesSchema } from '../schema.ts';

it('cannot make its check', () => {
  expectMatchesSchema('Response', {});
  expect(1).toBe(1);
});

it('cannot make its check, and fails', () => {
  expectMatchesSchema('Response', {});
  expect(1).toBe(2);
});

it('has no such check', () => {
  expect(1).toBe(1);
});

it.skipIf(true)('needs something else', { meta: { needs: 'a moon' } }, () => {
  expect(1).toBe(2);
});
