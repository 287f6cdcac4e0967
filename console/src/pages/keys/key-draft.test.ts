import { describe, expect, it } from 'vitest';

import { changesOf, draftOf, draftProblems, EMPTY_KEY, fieldsOf } from './key-draft.ts';
import type { Key } from './key-types.ts';

const KEY: Key = {
  id: 'key_1',
  name: 'Build',
  note: 'CI',
  hint: 'sk-…ab',
  scopes: ['infer', 'read'],
  models: ['gpt-*', 'o3'],
  workspaces: ['web'],
  effort: 'high',
  addresses: ['10.0.0.0/8'],
  concurrency: 4,
  storage_mb: 0,
  limits: [
    { unit: 'tokens', window: 'day', max: 1_000_000, model: null },
    { unit: 'cost', window: 'month', max: 2.5, model: 'gpt-*' },
  ],
  status: 'active',
  created_at: 1,
  expires_at: 1_700_000_007,
  last_used_at: null,
};

describe('a draft of a key', () => {
  it('has the fields of its key', () => {
    const { id, hint, status, created_at, last_used_at, ...fields } = KEY;
    expect(fieldsOf(draftOf(KEY))).toEqual(fields);
    expect(changesOf(KEY, draftOf(KEY))).toEqual({});
    expect([id, hint, status, created_at, last_used_at]).toEqual(['key_1', 'sk-…ab', 'active', 1, null]);
  });

  it('sends only what was changed', () => {
    const draft = {
      ...draftOf(KEY),
      note: ' new ',
      models: 'a, b\n\nc',
      workspaces: '',
      concurrency: '',
      storage: '70',
      effort: '',
    };
    expect(changesOf(KEY, draft)).toEqual({
      note: 'new',
      models: ['a', 'b', 'c'],
      workspaces: [],
      concurrency: null,
      storage_mb: 70,
      effort: null,
    });
  });

  it('names what has to be corrected', () => {
    const limit = { unit: 'tokens', window: 'day', model: '' } as const;
    expect(draftProblems({ ...EMPTY_KEY, name: 'a' })).toEqual({});
    expect(
      draftProblems({
        ...EMPTY_KEY,
        scopes: [],
        concurrency: '1.5',
        storage: '1.5',
        expires: 'soon',
        limits: [
          { ...limit, id: 1, max: '0' },
          { ...limit, id: 2, max: '5' },
          { ...limit, id: 3, max: '0.5', unit: 'cost' },
        ],
      }),
    ).toEqual({
      name: 'The key needs a name.',
      scopes: 'Choose at least one.',
      concurrency: 'This must be a whole number.',
      storage: 'This must be a whole number.',
      expires: 'This must be a date and time.',
      'limit-1': 'This must be a number above 0.',
    });
  });
});
