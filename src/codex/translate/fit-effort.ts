import { EFFORTS } from '../../canonical/models/model-names.ts';

const ORDER: readonly string[] = EFFORTS;

/**
 * The nearest effort that a model supports, preferring a higher one: backends that know their models' efforts
 * reject others. Unknown efforts stay unchanged.
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
