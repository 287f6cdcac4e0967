/** How often the event loop turned meanwhile. Promises alone never let it turn. */
export const turnsOfLoop = async (work: () => Promise<unknown>): Promise<number> => {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  try {
    await work();
  } finally {
    clearImmediate(next);
  }
  return turns;
};
