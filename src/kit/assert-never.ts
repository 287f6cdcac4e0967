/** The end of an exhaustive switch: the compiler objects when a case is missing. */
export const assertNever = (value: never): never => {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`);
};
