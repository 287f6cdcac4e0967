import { expect, it } from 'vitest';

import { kyselyOn } from '../../../store/connection-dialect.ts';
import { createSeal } from '../../../store/seal.ts';
import type { StateQuery } from './tables.ts';
import { itemStatements } from './turn-rows.ts';

const db = kyselyOn('postgres', () => ({ rows: [], changes: 0 }));
const query = { db, seal: createSeal([]), now: 0 } as unknown as StateQuery;

it('a connection has few statements to prepare, however many items turns have', () => {
  const texts = new Set<string>();
  for (let count = 0; count <= 600; count += 1) {
    const itemIds = Array.from({ length: count }, (_, index) => `msg_${index}`);
    const statements = itemStatements(query, 'alice', { key: 'key', itemIds });
    for (const { sql } of statements) texts.add(sql);
    const indexed = statements
      .flatMap(({ parameters }) => parameters)
      .filter((id) => String(id).startsWith('msg'));
    expect(new Set(indexed)).toEqual(new Set(itemIds));
  }
  expect(texts.size).toBeLessThan(10);
});
