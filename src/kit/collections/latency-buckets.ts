import { LogHistogram } from './log-histogram.ts';

/** The two times of requests, as encoded histograms of milliseconds. */
export interface Latencies {
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
