import { describe, expect, it } from 'vitest';

import { readModelBody, writeModelBody } from './model-body.ts';

describe('the body of a model request', () => {
  it('is read and written in turns, and stays what it was', async () => {
    const body = {
      model: 'm',
      input: Array.from({ length: 3_000 }, (_, index) => ({ index, text: 'é😀\n' })),
    };
    const written = await writeModelBody(body);
    expect(Buffer.from(written).toString()).toBe(JSON.stringify(body));
    expect(await readModelBody(written)).toEqual(body);
  });

  it('is null if it is no JSON object', async () => {
    const bodies = ['', '{"a":', '[]', '1'].map((text) => readModelBody(Buffer.from(text)));
    expect(await Promise.all(bodies)).toEqual([null, null, null, null]);
  });
});
