import { describe, expect, it } from 'vitest';

import { ItemIds } from './turn-items.ts';

const create = (): ItemIds => {
  let count = 0;
  return new ItemIds({ mint: (prefix) => `${prefix}_${(count += 1)}` });
};

describe('ids of items', () => {
  it("are the upstream's own", () => {
    const ids = create();
    expect(ids.create('msg_a', 'msg')).toBe('msg_a');
    expect(ids.known('msg_a')).toBe('msg_a');
  });

  it('are created if missing or used before', () => {
    const ids = create();
    expect(ids.create('', 'fc')).toBe('fc_1');
    expect(ids.create('', 'fc')).toBe('fc_2');
    expect(ids.create('fc_a', 'fc')).toBe('fc_a');
    expect(ids.create('fc_a', 'fc')).toBe('fc_3');
    expect(ids.known('fc_a')).toBe('fc_3');
    // A created id counts as used.
    expect(ids.create('fc_3', 'fc')).toBe('fc_4');
    expect(ids.known('unseen')).toBeUndefined();
  });
});
