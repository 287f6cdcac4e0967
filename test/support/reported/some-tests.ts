import { afterEach, beforeEach, describe, expect, it } from 'vitest';

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

describe('a test that is run again', () => {
  const seen: string[] = [];
  beforeEach(() => {
    seen.push('before');
  });
  afterEach(() => {
    seen.push('after');
  });

  it('may pass then, with its hooks', { retry: 1 }, () => {
    expect(seen).toEqual(['before', 'after', 'before']);
  });

  it('may fail again', { retry: 1 }, () => {
    expect(seen).toEqual([]);
  });
});
