/** Ends with the work, or when the time is up and the work goes on. */
export const within = async (work: Promise<void>, ms: number): Promise<void> => {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
};
