import { describe, expect, it } from 'vitest';

import { jsonResponse } from './json-response.ts';

describe('jsonResponse', () => {
  it.each([
    ['short', 'é'],
    ['long', 'é"'.repeat(100_000)],
  ])('is the same for a %s answer', async (_, text) => {
    const response = await jsonResponse(
      { text, none: undefined },
      { 'x-one': '1' },
      new AbortController().signal,
    );
    expect([response.status, Object.fromEntries(response.headers), await response.text()]).toEqual([
      200,
      { 'content-type': 'application/json', 'x-one': '1' },
      JSON.stringify({ text }),
    ]);
  });
});
