/** Replaces every value beyond the bound, and invalid names. */
const OTHER = 'other';

const SANE = /^[\w./:[\]-]{1,64}$/;

/**
 * The values of a label that strangers name: so many different ones at the most, each short and plain. Every value
 * is a line of the page that Prometheus reads, for as long as the process lives.
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

/** A known value, or the one that replaces all others. */
export const knownLabel =
  (known: ReadonlySet<string>): ((value: string) => string) =>
  (value) =>
    known.has(value) ? value : OTHER;
