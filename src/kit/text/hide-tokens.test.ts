import { describe, expect, it } from 'vitest';

import { hideTokens } from './hide-tokens.ts';

describe('hideTokens', () => {
  it.each([
    ['a token', 'is eyJhbGciOiJub25lIn0.eyJhIjoxfQ.sig, no', 'is ***, no'],
    ['one without a signature', 'eyJhbGciOiJub25lIn0.eyJhIjoxfQ', '***'],
    ['one behind a word', 'key-eyJhbGciOiJub25lIn0.eyJhIjoxfQ.sig', 'key-***'],
    [
      'one after a word that is not a token',
      'eyJhbGciOiJub25lIn0 eyJhbGciOiJub25lIn0.x',
      'eyJhbGciOiJub25lIn0 ***',
    ],
    ['a word', 'eyJust-a-long-word', 'eyJust-a-long-word'],
    ['a short one', 'eyJa.b', 'eyJa.b'],
  ])('%s', (_, text, expected) => {
    expect(hideTokens(text)).toBe(expected);
  });

  // A naive pattern took 24 s for 64 KB.
  it('takes linear time', () => {
    const text = '-eyJ'.repeat(16_000);
    const startedAt = performance.now();
    expect(hideTokens(text)).toBe(text);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
