import { describe, expect, it } from 'vitest';

import { readModelBody, writeModelBody } from './model-body.ts';

const never = new AbortController().signal;

describe('the body of a model request', () => {
  it('is read and written in slices, unchanged', async () => {
    const body = {
      model: 'm',
      input: Array.from({ length: 3_000 }, (_, index) => ({ index, text: 'é😀\n' })),
    };
    const written = await writeModelBody(body, never);
    expect(Buffer.from(written).toString()).toBe(JSON.stringify(body));
    expect(await readModelBody(written, never)).toEqual(body);
  });

  it('is null if it is not a JSON object', async () => {
    const bodies = ['', '{"a":', '[]', '1'].map((text) => readModelBody(Buffer.from(text), never));
    expect(await Promise.all(bodies)).toEqual([null, null, null, null]);
  });
});
