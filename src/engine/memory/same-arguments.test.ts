import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { isJsonObject } from '../../kit/json/json.ts';
import { hasSameArguments } from './same-arguments.ts';

/** The same values in another order of members, with added ones. */
const rewritten = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(rewritten);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, inner]) => [key, rewritten(inner)] as const);
  return Object.fromEntries([...members.toReversed(), ['added by the client', false]]);
};

describe('hasSameArguments', () => {
  it('accepts another order, other spaces and added members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (own) => {
        const spaced = JSON.stringify(own, null, 2);
        expect(hasSameArguments(JSON.stringify(rewritten(own)), spaced)).toBe(true);
      }),
    );
  });

  it('rejects changed, removed and reordered values', () => {
    const pairs: readonly (readonly [sent: string, own: string])[] = [
      ['{"a":2}', '{"a":1}'],
      ['{}', '{"a":null}'],
      ['{"a":[2,1]}', '{"a":[1,2]}'],
      ['{"a":[1,2]}', '{"a":[1]}'],
      ['{"a":{"b":1}}', '{"a":[1]}'],
      ['{"a":[1]}', '{"a":{"0":1}}'],
      ['{"a":"1"}', '{"a":1}'],
      ['{}', '{"toString":1}'],
      ['{"a":1}', '{"a":1'],
      ['', '{}'],
    ];
    expect(pairs.filter(([sent, own]) => hasSameArguments(sent, own))).toEqual([]);
  });
});
