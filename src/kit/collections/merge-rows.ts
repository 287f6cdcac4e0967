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
  let waiting = others.flatMap((other) => {
    const keys = Object.keys(other);
    return Object.entries(other).map(([key, row], at) => ({ key, row, after: row.after ?? keys[at - 1] }));
  });
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ after }) => after === undefined || placeOf(after) >= 0);
    const found = waiting[next];
    if (found === undefined) {
      const [{ key, after }] = waiting as [(typeof waiting)[0]];
      throw new Error(`${key} is to follow ${after}, which is not in the table.`);
    }
    const { key, row, after } = found;
    if (placeOf(key) >= 0) throw new Error(`There are two rows ${key}.`);
    rows.splice(after === undefined ? rows.length : placeOf(after) + 1, 0, [key, row]);
    waiting = waiting.toSpliced(next, 1);
  }
  return Object.fromEntries(rows);
};
