import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import { LogHistogram } from '../../kit/collections/log-histogram.ts';
import type { UsageCounts, UsageGroup, UsageLatency, UsageStore, UsageSum } from './store.ts';
import { addCounts, HOUR_MS, hourOf, NO_USAGE } from './usage-counts.ts';

/** A part of a time range, in milliseconds; `end` is excluded. */
interface UsageBucket {
  readonly start: number;
  readonly end: number;
}

interface BucketRange {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

/** Usage is recorded by the hour: a range begins and ends with whole hours. */
export const wholeHours = (from: number, to: number): { readonly from: number; readonly to: number } => ({
  from: hourOf(from),
  to: hourOf(to + HOUR_MS - 1),
});

/** The first buckets of a range. They begin at whole hours or days of UTC, except for the first one. */
const bucketsIn = ({ from, to, width }: BucketRange, limit: number): readonly UsageBucket[] => {
  const buckets: UsageBucket[] = [];
  for (let start = from; start < to && buckets.length < limit;) {
    const end = Math.min(start - (start % width) + width, to);
    buckets.push({ start, end });
    start = end;
  }
  return buckets;
};

export interface UsageReaderDeps {
  readonly store: UsageStore;
  /** Writes what this process has recorded. */
  readonly flush: () => Promise<void>;
  readonly clock: Clock;
  /** Since when there is any, in milliseconds; null: as long as rows are kept. */
  readonly recordedSince: number | null;
}

/** Sums of groups, some of whose labels are null. */
export interface UsageTotals extends UsageBucket {
  readonly sums: readonly UsageSum[];
}

export interface LatencyQuantiles {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

export interface MeasuredUsage {
  readonly counts: UsageCounts;
  readonly firstEventMs: LatencyQuantiles;
  readonly durationMs: LatencyQuantiles;
}

/** The usage of one key or of all of them. */
export interface UsageReport extends UsageBucket {
  readonly total: MeasuredUsage;
  readonly windows: readonly (UsageBucket & { readonly name: string; readonly counts: UsageCounts })[];
  readonly buckets: readonly (UsageBucket & MeasuredUsage & { readonly models: readonly UsageSum[] })[];
  readonly byModel: readonly UsageSum[];
  readonly byClient: readonly UsageSum[];
  readonly byKey: readonly UsageSum[];
}

/** Wider than any range: everything is in the first bucket. */
const ALL_TIME = Number.MAX_SAFE_INTEGER;
const MAX_SUMS = 20_000;
const MAX_BUCKETS = 400;

const WINDOWS = [
  { name: '5h', hours: 5 },
  { name: '24h', hours: 24 },
  { name: '7d', hours: 7 * 24 },
  { name: '30d', hours: 30 * 24 },
] as const;

/** Reads what was recorded. */
export class UsageReader {
  readonly #deps: UsageReaderDeps;

  constructor(deps: UsageReaderDeps) {
    this.#deps = deps;
  }

  get recordedSince(): number | null {
    return this.#deps.recordedSince;
  }

  now(): number {
    return this.#deps.clock.now();
  }

  /** Some buckets of a range, those without usage too. */
  async page(
    range: BucketRange & {
      readonly limit: number;
      readonly keyIds: readonly string[] | null;
      readonly models: readonly string[] | null;
      readonly by: readonly UsageGroup[];
    },
  ): Promise<readonly UsageTotals[]> {
    await this.#deps.flush();
    const buckets = bucketsIn(range, range.limit);
    const to = buckets.at(-1)?.end ?? range.from;
    const sums = byBucket(await this.#sums({ ...range, to }));
    return buckets.map((bucket) => ({ ...bucket, sums: sums.get(alignedStart(bucket, range)) ?? [] }));
  }

  async report(range: BucketRange, keyIds: readonly string[] | null): Promise<UsageReport> {
    const { store, flush } = this.#deps;
    await flush();
    const asked = { ...range, keyIds, models: null };
    const whole = { ...asked, width: ALL_TIME };
    const [perBucket, byClient, byKey, latencies, windows] = await Promise.all([
      this.#sums({ ...asked, by: ['model'] }),
      this.#sums({ ...whole, by: ['client'] }),
      this.#sums({ ...whole, by: ['keyId'] }),
      store.latencies({ ...range, keyIds }),
      this.#windows(keyIds),
    ]);
    const byStart = byBucket(perBucket);
    const times = new Map(latencies.map((one) => [one.start, one]));
    return {
      start: range.from,
      end: range.to,
      total: { counts: totalOf(perBucket), ...quantilesOf(latencies) },
      windows,
      buckets: bucketsIn(range, MAX_BUCKETS).map((bucket) => {
        const start = alignedStart(bucket, range);
        const models = byStart.get(start) ?? [];
        const time = times.get(start);
        const counts = totalOf(models);
        return { ...bucket, counts, ...quantilesOf(time === undefined ? [] : [time]), models };
      }),
      byModel: [...Map.groupBy(perBucket, ({ model }) => model)].map(([model, sums]) => ({
        ...totalOf(sums),
        start: range.from,
        keyId: null,
        client: null,
        model,
      })),
      byClient,
      byKey,
    };
  }

  #windows(keyIds: readonly string[] | null): Promise<UsageReport['windows']> {
    const now = this.now();
    const end = hourOf(now) + HOUR_MS;
    return Promise.all(
      WINDOWS.map(async ({ name, hours }) => {
        const start = end - hours * HOUR_MS;
        const range = { from: start, to: end, width: ALL_TIME, keyIds, models: null };
        return { name, start, end, counts: totalOf(await this.#sums({ ...range, by: [] })) };
      }),
    );
  }

  async #sums(asked: Omit<Parameters<UsageStore['sums']>[0], 'limit'>): Promise<readonly UsageSum[]> {
    const sums = await this.#deps.store.sums({ ...asked, limit: MAX_SUMS + 1 });
    if (sums.length <= MAX_SUMS) return sums;
    throw gatewayError('invalid_value', {
      message: `The answer would have more than ${MAX_SUMS} results. Ask for a shorter time range or fewer groups.`,
    });
  }
}

const alignedStart = ({ start }: UsageBucket, { width }: BucketRange): number => start - (start % width);

const byBucket = (sums: readonly UsageSum[]): ReadonlyMap<number, readonly UsageSum[]> =>
  Map.groupBy(sums, ({ start }) => start);

const totalOf = (sums: readonly UsageCounts[]): UsageCounts => sums.reduce(addCounts, NO_USAGE);

const quantilesOf = (latencies: readonly UsageLatency[]): Omit<MeasuredUsage, 'counts'> => ({
  firstEventMs: quantiles(latencies.map(({ firstEvents }) => firstEvents)),
  durationMs: quantiles(latencies.map(({ durations }) => durations)),
});

const quantiles = (encoded: readonly string[]): LatencyQuantiles => {
  const all = new LogHistogram();
  for (const text of encoded) all.addEncoded(text);
  return { p50: all.quantile(0.5), p90: all.quantile(0.9), p99: all.quantile(0.99) };
};
