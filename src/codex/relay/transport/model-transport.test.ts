import type { Readable } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { Payload } from './model-transport.ts';

describe('Payload', () => {
  it('hands a large body over and forgets it', async () => {
    const bytes = Buffer.alloc(100_000, 1);
    const payload = new Payload(bytes);
    const { stream } = payload;
    expect(payload.bytes).toBe(bytes);
    const read: Buffer[] = [];
    for await (const chunk of stream as Readable) read.push(chunk as Buffer);
    expect([Buffer.concat(read).equals(bytes), payload.size]).toEqual([true, 100_000]);
    expect(() => payload.bytes).toThrow('sent twice');
  });

  it('sends a small body as it is', () => {
    const bytes = Buffer.from('{}');
    expect(new Payload(bytes).stream).toBe(bytes);
  });
});
