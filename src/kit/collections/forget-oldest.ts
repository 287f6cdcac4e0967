interface Kept<Key> {
  readonly size: number;
  keys(): Iterator<Key>;
  delete(key: Key): boolean;
}

/** Keeps a map or a set at `max` entries. Both keep the order in which their keys came. */
export const forgetOldest = <Key>(kept: Kept<Key>, max: number): void => {
  if (kept.size <= max) return;
  const oldest = kept.keys().next();
  if (oldest.done !== true) kept.delete(oldest.value);
};
