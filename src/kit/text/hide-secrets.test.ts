import { describe, expect, it } from 'vitest';

import { secretHider, hideTokens } from './hide-secrets.ts';

describe('hideSecrets', () => {
  it.each([
    ['as it is', 'key quoted: pass+"word"/1!', 'key quoted: ***!'],
    ['in JSON', JSON.stringify({ a: 'x pass+"word"/1 y' }), '{"a":"x *** y"}'],
    ['in an address', 'https://h/?k=pass%2B%22word%22%2F1&b', 'https://h/?k=***&b'],
    ['in base64', `Basic ${btoa('pass+"word"/1')}`, 'Basic ***=='],
    ['not at all', 'pass word', 'pass word'],
  ])('%s', (_, text, expected) => {
    expect(secretHider(['', 'short', 'pass+"word"/1'])(text)).toBe(expected);
  });

  it('hides a secret that is the prefix of another', () => {
    expect(secretHider(['secret', 'secret-longer'])('secret-longer secret')).toBe('*** ***');
  });
});

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
