import { describe, expect, it } from 'vitest';

import { hideSecrets } from './hide-secrets.ts';

describe('hideSecrets', () => {
  it.each([
    ['as it is', 'key quoted: pass+"word"/1!', 'key quoted: ***!'],
    ['in JSON', JSON.stringify({ a: 'x pass+"word"/1 y' }), '{"a":"x *** y"}'],
    ['in an address', 'https://h/?k=pass%2B%22word%22%2F1&b', 'https://h/?k=***&b'],
    ['in base64', `Basic ${btoa('pass+"word"/1')}`, 'Basic ***=='],
    ['not at all', 'pass word', 'pass word'],
  ])('%s', (_, text, expected) => {
    expect(hideSecrets(['', 'short', 'pass+"word"/1'])(text)).toBe(expected);
  });

  it('hides a secret that is the prefix of another', () => {
    expect(hideSecrets(['secret', 'secret-longer'])('secret-longer secret')).toBe('*** ***');
  });
});
