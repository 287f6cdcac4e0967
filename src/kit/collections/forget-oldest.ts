interface Kept<Key> {
  readonly size: number;
  keys(): Iterator<Key>;
  delete(key: Key): boolean;
}

/** Limits a map or set to `max` entries; both keep insertion order. */
export const forgetOldest = <Key>(kept: Kept<Key>, max: number): void => {
  if (kept.size <= max) return;
  const oldest = kept.keys().next();
  if (oldest.done !== true) kept.delete(oldest.value);
};
