const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=_)[0-9a-f]{32}/g;
/** A field whose number depends on the clock. */
const TIME = /(?:At|_at|Ms|_ms|_time)$/;

/** Makes recordings reproducible: ids are numbered, times are zero. */
export const normalise = <T>(lines: readonly T[]): readonly T[] => {
  const ids = new Map<string, string>();
  const counted = (id: string): string => {
    const known = ids.get(id) ?? `id${ids.size + 1}`;
    ids.set(id, known);
    return known;
  };
  const plain = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') return value.replaceAll(UUID, counted);
    if (typeof value === 'number') return TIME.test(key) ? 0 : value;
    if (Array.isArray(value)) return value.map((one) => plain(one, ''));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one, name)]));
  };
  return lines.map((line) => plain(line, '') as T);
};
