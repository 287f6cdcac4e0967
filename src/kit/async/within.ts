/** The result of the work; null if it is not ready in time. The work continues. */
export const within = async <Value>(work: Promise<Value>, ms: number): Promise<Value | null> => {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};
