import { describe, expect, it } from 'vitest';
import { requestIdOf } from './request-id.ts';

const ids = { mint: (prefix: string) => `${prefix}_fresh` };

describe('requestIdOf', () => {
  it.each([['abc-123'], ['req_01.x:y'], ['a'.repeat(128)]])('takes over %s', (header) => {
    expect(requestIdOf(header, ids)).toBe(header);
  });

  it.each([[null], [''], ['a b'], ['a\nb'], ['<x>'], ['é'], ['a'.repeat(129)]])(
    'mints an id instead of %j',
    (header) => {
      expect(requestIdOf(header, ids)).toBe('req_fresh');
    },
  );
});
