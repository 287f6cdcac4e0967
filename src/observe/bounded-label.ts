/** Replaces every value beyond the bound, and invalid names. */
const OTHER = 'other';

const SANE = /^[\w./:[\]-]{1,64}$/;

/**
 * Limits the values of a label that clients or backends choose: a maximum number, each short and plain. Every value is a
 * time series for as long as the process lives.
 */
export const boundedLabel = (max = 50): ((value: string) => string) => {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return value;
    if (known.size >= max || !SANE.test(value)) return OTHER;
    known.add(value);
    return value;
  };
};

/** Keeps known values and replaces others. */
export const knownLabel =
  (known: ReadonlySet<string>): ((value: string) => string) =>
  (value) =>
    known.has(value) ? value : OTHER;
