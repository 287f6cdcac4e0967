/** Ends an exhaustive switch: a missing case is a compile error. */
export const assertNever = (value: never): never => {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
};
