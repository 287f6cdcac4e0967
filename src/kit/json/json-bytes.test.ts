import { describe, expect, it } from 'vitest';

import { joinSteps, jsonBytesSteps } from './json-bytes.ts';
import { atOnce } from '../async/event-loop.ts';

describe('jsonBytesSteps', () => {
  it('returns the bytes of the text', () => {
    const value = { text: 'é😀"\n'.repeat(50_000), list: [1, null, { a: true }] };
    expect(new TextDecoder().decode(atOnce(jsonBytesSteps(value)))).toBe(JSON.stringify(value));
  });

  it('concatenates bytes', () => {
    const parts = [[1, 2], [], [3]].map((bytes) => Uint8Array.from(bytes));
    expect([...atOnce(joinSteps(parts))]).toEqual([1, 2, 3]);
    expect([...atOnce(joinSteps([]))]).toEqual([]);
  });
});
