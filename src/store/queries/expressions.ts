import { sql, type Kysely, type RawBuilder } from 'kysely';

import type { Query } from '../operation.ts';

/** The larger of a column and a value: the databases have different functions for that. */
export const atLeast = (column: string, value: number): RawBuilder<number> => {
  const name = sql.ref<number>(column);
  return sql`case when ${name} > ${value} then ${name} else ${value} end`;
};

/** Statements with many values are made in these sizes. */
const MAX_VALUES = 256;

/**
 * Splits values for `in (…)`. The last part is filled up to a power of two with its last value, so that there are few
 * different statements to prepare.
 */
export const inParts = (values: readonly string[]): readonly (readonly string[])[] => {
  const distinct = [...new Set(values)];
  const parts: string[][] = [];
  for (let at = 0; at < distinct.length; at += MAX_VALUES) {
    const part = distinct.slice(at, at + MAX_VALUES);
    const size = 2 ** Math.ceil(Math.log2(part.length));
    parts.push([...part, ...Array.from({ length: size - part.length }, () => part.at(-1) ?? '')]);
  }
  return parts;
};

interface ExpiringTable {
  id: string;
  expires_at: number;
}

/** Deletes some expired rows of a table that no other row depends on. It has the columns `id` and `expires_at`. */
export const deleteExpired = async ({ db, now }: Query, table: string, limit: number): Promise<number> => {
  const { numDeletedRows } = await (db as unknown as Kysely<Record<string, ExpiringTable>>)
    .deleteFrom(table)
    .where('id', 'in', (of) =>
      of.selectFrom(table).select('id').where('expires_at', '<=', now).orderBy('expires_at').limit(limit),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
};
