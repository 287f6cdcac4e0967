import { describe, expect, it } from 'vitest';

import { functionTool, turnRequest } from '../../../test/support/turn-request.ts';
import { countableInput, type Countable } from './countable.ts';
import type { Item } from '../request/item.ts';

const MANY = 200_000;
const parameters = { type: 'object', enum: Array<number>(MANY).fill(0) };
const hosted: Item = { kind: 'opaque', raw: { type: 'unknown', values: Array<number>(MANY).fill(0) } };

const charsOf = ({ texts }: Countable): number => texts.join('').length;

describe('countableInput', () => {
  it.each([
    ['a tool', { items: [], tools: [functionTool('f', { parameters })] }],
    ['an item of the backend', { items: [hosted] }],
  ])('splits %s with very many values into pieces', (_, different) => {
    const sizes = [...countableInput(turnRequest(different))].map(charsOf);
    expect(Math.max(...sizes)).toBeLessThan(20_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(2 * MANY);
  });

  it('yields each part of a message separately', () => {
    const parts = ['a', 'b', 'c'].map((text) => ({ kind: 'text' as const, text }));
    const items: Item[] = [{ kind: 'message', role: 'user', parts }];
    expect([...countableInput(turnRequest({ items }))]).toEqual([
      { texts: [], tokens: 2 },
      { texts: [], tokens: 4 },
      { texts: ['a'], tokens: 0 },
      { texts: ['b'], tokens: 0 },
      { texts: ['c'], tokens: 0 },
    ]);
  });
});
