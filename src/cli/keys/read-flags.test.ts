import { describe, expect, it } from 'vitest';

import { fieldsOf, overlapOf } from './read-flags.ts';

const NOW = Date.UTC(2026, 10, 17, 12);

const read = (flags: Readonly<Record<string, string>>) => fieldsOf(new Map(Object.entries(flags)), NOW);

describe('fieldsOf', () => {
  it('has only what was given', () => {
    expect(read({ json: '' })).toEqual({});
    expect(
      read({
        name: 'Ada',
        note: 'a, b',
        scopes: 'infer, read',
        models: 'gpt-*,o3',
        effort: 'none',
        addresses: '10.0.0.0/8',
        concurrency: '4',
        storage: '70',
        expires: '2027-01-31',
      }),
    ).toEqual({
      name: 'Ada',
      note: 'a, b',
      scopes: ['infer', 'read'],
      models: ['gpt-*', 'o3'],
      effort: 'none',
      addresses: ['10.0.0.0/8'],
      concurrency: 4,
      storage_mb: 70,
      expires_at: Date.UTC(2027, 0, 31) / 1000,
    });
  });

  it('removes what restricts a key', () => {
    expect(
      read({
        models: 'any',
        effort: 'any',
        addresses: 'any',
        concurrency: 'any',
        storage: 'any',
        limit: 'none',
        expires: 'never',
      }),
    ).toEqual({
      models: [],
      effort: null,
      addresses: [],
      concurrency: null,
      storage_mb: 0,
      limits: [],
      expires_at: null,
    });
  });

  it('reads limits, each with the model after it', () => {
    expect(read({ limit: 'tokens/day=1000000,model=gpt-*,requests/minute=5,cost/5h=0.5,model=o3' })).toEqual({
      limits: [
        { unit: 'tokens', window: 'day', max: 1_000_000, model: 'gpt-*' },
        { unit: 'requests', window: 'minute', max: 5 },
        { unit: 'cost', window: '5h', max: 0.5, model: 'o3' },
      ],
    });
    for (const limit of ['tokens=5', 'model=x', 'tokens/day', '5', 'a/b/c=1'])
      expect(() => read({ limit })).toThrow(`--limit ${limit}: write a limit as tokens/day=1000000`);
  });

  it.each([
    ['30d', NOW + 30 * 86_400_000],
    ['12h', NOW + 12 * 3_600_000],
    ['2w', NOW + 14 * 86_400_000],
    ['2027-01-31T18:00:00+01:00', Date.UTC(2027, 0, 31, 17)],
  ])('reads the expiry %s', (expires, ms) => {
    expect(read({ expires })).toEqual({ expires_at: ms / 1000 });
  });

  it.each(['soon', '30', '2027', '2027-13-01', '2027-02-30', '2027-02-30T12:00:00Z', 'd', '-1d'])(
    'refuses the expiry %j',
    (expires) => {
      expect(() => read({ expires })).toThrow(`--expires ${expires}: write a duration such as 30d`);
    },
  );

  it.each(['2020-01-01', '0d', '2026-11-17T12:00:00Z'])('refuses the expiry %s in the past', (expires) => {
    expect(() => read({ expires })).toThrow(`--expires ${expires}: this is not in the future.`);
  });
});

describe('overlapOf', () => {
  it('is a duration', () => {
    expect([undefined, '0', '90m', '7d'].map(overlapOf)).toEqual([
      {},
      { overlap_seconds: 0 },
      { overlap_seconds: 5_400 },
      { overlap_seconds: 604_800 },
    ]);
    expect(() => overlapOf('long')).toThrow('--overlap long: write a duration such as 24h or 7d');
  });
});
