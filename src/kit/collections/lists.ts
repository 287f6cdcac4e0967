/** A list that is never empty, so that its first element needs no check. */
export type OneOrMore<T> = readonly [T, ...T[]];

export const mapAll = <T, U>(
  [first, ...rest]: OneOrMore<T>,
  map: (value: T, index: number) => U,
): OneOrMore<U> => [map(first, 0), ...rest.map((value, index) => map(value, index + 1))];

/** Appends all items. `push(...more)` would overflow the stack for a client's long list. */
export const append = <T>(list: T[], more: Iterable<T>): void => {
  for (const one of more) list.push(one);
};
