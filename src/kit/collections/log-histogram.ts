/** Each bucket is 19 % wider than the one before, so a quantile is at most that wrong. */
const PER_OCTAVE = 4;
/** Above 18 hours. */
const LAST = 26 * PER_OCTAVE + 1;

const bucketOf = (value: number): number =>
  value < 1 ? 0 : Math.min(LAST, 1 + Math.floor(Math.log2(value) * PER_OCTAVE));

/** The lowest value of a bucket. */
const lowest = (bucket: number): number => (bucket === 0 ? 0 : 2 ** ((bucket - 1) / PER_OCTAVE));

/**
 * Counts values, such as milliseconds, in buckets of a logarithmic scale. Histograms can be added, so that the quantiles of
 * several hours or servers are those of all their values.
 */
export class LogHistogram {
  readonly #counts = new Map<number, number>();
  #total = 0;

  add(value: number): void {
    this.#increase(bucketOf(value), 1);
  }

  /** Adds the values of another one, as `encode` wrote them. */
  addEncoded(text: string): void {
    if (text === '') return;
    for (const pair of text.split(' ')) {
      const [bucket = '', count = ''] = pair.split(':');
      this.#increase(Number(bucket), Number(count));
    }
  }

  /** The counts of all buckets that have any, such as `12:3 14:1`. */
  encode(): string {
    return [...this.#counts]
      .toSorted(([a], [b]) => a - b)
      .map(([bucket, count]) => `${bucket}:${count}`)
      .join(' ');
  }

  /** The value below which this share of the values lies, rounded; null without values. */
  quantile(share: number): number | null {
    if (this.#total === 0) return null;
    const rank = share * this.#total;
    let before = 0;
    let value = 0;
    for (const [bucket, count] of [...this.#counts].toSorted(([a], [b]) => a - b)) {
      const part = Math.min(1, (rank - before) / count);
      value = lowest(bucket) + part * (lowest(bucket + 1) - lowest(bucket));
      before += count;
      if (before >= rank) break;
    }
    return Math.round(value);
  }

  #increase(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
    this.#total += count;
  }
}

/** The two times of requests, as encoded histograms of milliseconds. */
interface Latencies {
  readonly firstEvents: string;
  readonly durations: string;
}

/** Adds up the times of requests by bucket. */
export class LatencyBuckets {
  readonly #buckets = new Map<number, { readonly first: LogHistogram; readonly all: LogHistogram }>();

  add(start: number, { firstEvents, durations }: Latencies): void {
    if (durations === '') return;
    const bucket = this.#buckets.get(start) ?? { first: new LogHistogram(), all: new LogHistogram() };
    this.#buckets.set(start, bucket);
    bucket.first.addEncoded(firstEvents);
    bucket.all.addEncoded(durations);
  }

  /** In the order of their starts. */
  sums(): readonly (Latencies & { readonly start: number })[] {
    return [...this.#buckets]
      .toSorted(([a], [b]) => a - b)
      .map(([start, { first, all }]) => ({ start, firstEvents: first.encode(), durations: all.encode() }));
  }
}
