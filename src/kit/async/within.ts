/** What the work comes to; null when the time is up first, and the work goes on unheard. */
export const within = async <Value>(work: Promise<Value>, ms: number): Promise<Value | null> => {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(late.resolve, ms, null);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};
