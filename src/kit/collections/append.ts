/** Adds all of them. `push(...more)` would put each on the stack, which a client's list can be too long for. */
export const append = <T>(list: T[], more: Iterable<T>): void => {
  for (const one of more) list.push(one);
};
