type Kind = 'counter' | 'gauge' | 'histogram';

/** A row of the table of metrics. */
export interface MetricRow<K extends Kind = Kind, Label extends string = string> {
  readonly kind: K;
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  readonly buckets?: readonly number[];
  /** Of a feature's metric: the one before it in the docs. */
  readonly after?: string;
}

/** Metrics by their names in the code. */
export type MetricTable = Readonly<Record<string, MetricRow>>;

/** Without labels there is no `Label`: TypeScript would infer `string`. */
type Row<K extends Kind> = <const Label extends string = never>(
  name: string,
  help: string,
  labels?: readonly Label[],
) => MetricRow<K, Label>;

export const counter: Row<'counter'> = (name, help, labels = []) => ({ kind: 'counter', name, help, labels });
export const gauge: Row<'gauge'> = (name, help, labels = []) => ({ kind: 'gauge', name, help, labels });

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300] as const;

export const histogram: Row<'histogram'> = (name, help, labels = []) => ({
  kind: 'histogram',
  name,
  help,
  labels,
  buckets: SECONDS,
});

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
