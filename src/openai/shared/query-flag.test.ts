import { describe, expect, it } from 'vitest';

import { refused } from '../../../test/support/refused.ts';
import { readQueryFlag } from './query-flag.ts';

const read = (query: string): boolean => readQueryFlag(new URLSearchParams(query), 'stream');

describe('a flag in a query', () => {
  it('is true or false, as SDKs of several languages write it', () => {
    const isTrue = (query: string): readonly [string, boolean] => [query, read(query)];
    expect(['stream=true', 'stream=True', 'stream=false', 'stream=False', 'stream=', ''].map(isTrue)).toEqual(
      [
        ['stream=true', true],
        ['stream=True', true],
        ['stream=false', false],
        ['stream=False', false],
        ['stream=', false],
        ['', false],
      ],
    );
  });

  it('is rejected if it is something else', () => {
    expect(refused(() => read('stream=maybe'))).toMatchObject({
      status: 400,
      code: 'invalid_type',
      param: 'stream',
      message: "Invalid type for 'stream': expected a boolean, but got 'maybe' instead.",
    });
  });
});
