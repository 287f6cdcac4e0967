import { describe, expect, it } from 'vitest';

import { boundedLabel, knownLabel } from './metric-row.ts';

describe('boundedLabel', () => {
  it('keeps a limited number of values, and replaces the rest', () => {
    const label = boundedLabel(2);
    expect(['a', 'b', 'c', 'a', 'b', 'd'].map(label)).toEqual(['a', 'b', 'other', 'a', 'b', 'other']);
  });

  it.each(['', 'two words', 'new\nline', 'quote"', 'x'.repeat(65), 'ä'])('does not take %j', (value) => {
    expect(boundedLabel()(value)).toBe('other');
  });

  it('does not count invalid values', () => {
    const label = boundedLabel(1);
    expect([label('not plain'), label('plain')]).toEqual(['other', 'plain']);
  });
});

describe('knownLabel', () => {
  it('keeps known values', () => {
    expect(['a', 'b'].map(knownLabel(new Set(['a'])))).toEqual(['a', 'other']);
  });
});
