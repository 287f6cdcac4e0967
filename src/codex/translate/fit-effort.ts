/** From least to most. Models have some of them. */
const ORDER = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

/**
 * The effort that a model has and that is nearest to the one asked for, rather a greater one than a
 * smaller: a backend that knows its models' efforts refuses any other. What is not known is left alone.
 */
export const fitEffort = (asked: string | null, has: readonly string[] | null): string | null => {
  if (asked === null || has === null || has.length === 0 || has.includes(asked)) return asked;
  const place = ORDER.indexOf(asked);
  const known = has.filter((effort) => ORDER.includes(effort));
  if (place === -1 || known.length === 0) return asked;
  return known.toSorted((one, other) => distance(one, place) - distance(other, place))[0] ?? asked;
};

const distance = (effort: string, from: number): number => {
  const steps = ORDER.indexOf(effort) - from;
  return steps < 0 ? -steps + 0.5 : steps;
};
