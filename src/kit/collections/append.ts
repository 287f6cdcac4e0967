/** Appends all items. `push(...more)` would overflow the stack for a client's long list. */
export const append = <T>(list: T[], more: Iterable<T>): void => {
  for (const one of more) list.push(one);
};
