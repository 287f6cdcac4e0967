import type { Ambient } from '../../kit/ambient.ts';
import { WriteQueue } from '../../kit/async/write-queue.ts';
import { LogHistogram } from '../../kit/collections/log-histogram.ts';
import { boundedLabel } from '../../observe/metric-row.ts';
import type { RequestEnd, StartedRequest } from '../../observe/request-end.ts';
import type { RequestObserver, RequestWatch } from '../../observe/request-observer.ts';
import type { UsageCounts, UsageLabels, UsageRow, UsageStore } from './store.ts';
import { addCounts, countsOf, HOUR_MS, hourOf, isCounted, NO_USAGE } from './usage-counts.ts';

export interface UsageRecorderOptions {
  readonly store: Pick<UsageStore, 'put'>;
  readonly ambient: Ambient;
  /** The paths of requests that run turns. */
  readonly turnPaths: ReadonlySet<string>;
  readonly ttlMs: number;
  /** `memory`: too many rows wait for the database. `stop`: it was away when the server stopped. */
  readonly onLost: (requests: number, reason: 'memory' | 'stop') => void;
  /** Called once each time that the database begins to fail. */
  readonly onError: (error: unknown) => void;
  readonly flushMs?: number;
  readonly maxRows?: number;
}

const FLUSH_MS = 5_000;
/** About 1 KB each. */
const MAX_ROWS = 10_000;
const ROWS_PER_WRITE = 200;
const STOP_MS = 5_000;
/** Clients choose the names of models. More than these of one key in an hour are counted as `other`. */
const MAX_MODELS = 50;
const MAX_CLIENTS = 20;
/** The request failed before its model or client was known. */
const UNKNOWN = '';

interface OpenRow {
  readonly id: string;
  readonly labels: UsageLabels;
  counts: UsageCounts;
  readonly firstEvents: LogHistogram;
  readonly durations: LogHistogram;
  /** How many of its requests the store has. */
  written: number;
}

interface KeyLabels {
  readonly model: (name: string) => string;
  readonly client: (name: string) => string;
}

/**
 * Adds up what requests use, and writes the totals of the hour every few seconds. A row has the totals of this process, not
 * what was added: a write whose answer was lost is simply sent again.
 */
export class UsageRecorder implements RequestObserver {
  readonly #options: UsageRecorderOptions;
  readonly #rows = new Map<string, OpenRow>();
  #labels: { hour: number; readonly byKey: Map<string, KeyLabels> } = { hour: 0, byKey: new Map() };
  readonly #queue: WriteQueue<OpenRow>;

  constructor(options: UsageRecorderOptions) {
    const { flushMs = FLUSH_MS, onError } = options;
    this.#options = options;
    this.#queue = new WriteQueue({
      write: (rows) => this.#write(rows),
      delayMs: flushMs,
      perWrite: ROWS_PER_WRITE,
      // `maxRows` counts rows that are written, too.
      max: Infinity,
      retries: () => true,
      onError,
    });
  }

  open({ method, route }: StartedRequest): RequestWatch | null {
    if (method === 'GET' || !this.#options.turnPaths.has(route)) return null;
    return {
      end: (end) => {
        if (isCounted(end)) this.#record(end);
      },
    };
  }

  /** Writes everything that was recorded before the call. Rejects if the database cannot be reached. */
  flush(): Promise<void> {
    return this.#queue.flush();
  }

  async stop(): Promise<void> {
    const left = await this.#queue.close(STOP_MS);
    const lost = left.reduce((sum, row) => sum + row.counts.requests - row.written, 0);
    if (lost > 0) this.#options.onLost(lost, 'stop');
  }

  #record(end: RequestEnd): void {
    // Without a valid key there is no usage to add it to.
    if (end.keyId === null) return;
    const row = this.#rowFor(end.keyId, end);
    if (row === null) {
      this.#options.onLost(1, 'memory');
      return;
    }
    row.counts = addCounts(row.counts, countsOf(end));
    this.#queue.put(row.id, row);
    if (end.result !== 'answered') return;
    row.durations.add(end.durationMs);
    if (end.firstEventMs !== null) row.firstEvents.add(end.firstEventMs);
  }

  #rowFor(keyId: string, { model, client }: RequestEnd): OpenRow | null {
    const { ambient, maxRows = MAX_ROWS } = this.#options;
    const hour = hourOf(ambient.clock.now());
    const known = this.#labelsOf(hour, keyId);
    const labels = {
      hour,
      keyId,
      model: model === null ? UNKNOWN : known.model(model),
      client: client === null ? UNKNOWN : known.client(client.name),
    };
    const name = JSON.stringify([hour, keyId, labels.model, labels.client]);
    const row = this.#rows.get(name);
    if (row !== undefined) return row;
    if (this.#rows.size >= maxRows) return null;
    const opened = {
      id: ambient.ids.mint('usage'),
      labels,
      counts: NO_USAGE,
      firstEvents: new LogHistogram(),
      durations: new LogHistogram(),
      written: 0,
    };
    this.#rows.set(name, opened);
    return opened;
  }

  #labelsOf(hour: number, keyId: string): KeyLabels {
    if (this.#labels.hour !== hour) this.#labels = { hour, byKey: new Map() };
    const known = this.#labels.byKey.get(keyId);
    if (known !== undefined) return known;
    const labels = { model: boundedLabel(MAX_MODELS), client: boundedLabel(MAX_CLIENTS) };
    this.#labels.byKey.set(keyId, labels);
    return labels;
  }

  async #write(due: readonly OpenRow[]): Promise<void> {
    const written = due.map((row) => this.#toRow(row));
    await this.#options.store.put(written);
    for (const [nth, row] of due.entries()) row.written = written[nth]?.requests ?? row.written;
    this.#forgetPastHours();
  }

  #toRow({ id, labels, counts, firstEvents, durations }: OpenRow): UsageRow {
    return {
      id,
      ...labels,
      ...counts,
      firstEvents: firstEvents.encode(),
      durations: durations.encode(),
      expiresAt: labels.hour + HOUR_MS + this.#options.ttlMs,
    };
  }

  #forgetPastHours(): void {
    const now = hourOf(this.#options.ambient.clock.now());
    for (const [name, { labels, counts, written }] of this.#rows) {
      if (labels.hour !== now && written === counts.requests) this.#rows.delete(name);
    }
  }
}
