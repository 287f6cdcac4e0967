/** A row of a table that features add to. */
export interface PlacedRow {
  /** The key of the row before it; absent: it follows the row before it in its own table, or is the last one. */
  readonly after?: string;
}

/** The rows of a table with those of other tables at their places. Throws if a key is there twice, or not at all. */
export const mergeRows = <Row extends object>(
  table: Readonly<Record<string, Row>>,
  others: readonly Readonly<Record<string, Row & PlacedRow>>[],
): Readonly<Record<string, Row>> => {
  const rows: [string, Row][] = Object.entries(table);
  const placeOf = (key: string): number => rows.findIndex(([known]) => known === key);
  for (const other of others) {
    let before: string | null = null;
    for (const [key, row] of Object.entries(other)) {
      if (placeOf(key) >= 0) throw new Error(`There are two rows ${key}.`);
      const after: string | null = row.after ?? before;
      const place = after === null ? rows.length : placeOf(after) + 1;
      if (place === 0) throw new Error(`${key} is to follow ${after}, which is not in the table.`);
      rows.splice(place, 0, [key, row]);
      before = key;
    }
  }
  return Object.fromEntries(rows);
};
