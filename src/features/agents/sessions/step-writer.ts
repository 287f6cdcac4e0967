import type { AgentSessionRow, AgentSessionStore, SessionItemRow } from '../store/port.ts';
import { insistently } from '../../../turns/insistently.ts';
import type { SessionEvent } from './objects.ts';
import type { StepSink } from './step-items.ts';

export interface StepWriterOptions {
  readonly store: AgentSessionStore;
  readonly row: AgentSessionRow;
  readonly instance: string;
  /** The number of the next event. */
  readonly first: number;
  readonly eventsExpireAt: () => number;
  readonly nextItem: () => number;
  /** Nothing can be written any more: another instance runs the session, or the database is gone. */
  readonly onLost: (error: unknown) => void;
  readonly signal: AbortSignal;
}

/**
 * The time from one write to the next at least: what comes earlier is collected, what comes later is written at once. The
 * slower the store, the larger the batches.
 */
const BATCH_MS = 20;
const MAX_BATCH_MS = 500;
/** So much is written at once. */
const BATCH_CHARS = 64 * 1024;
/** The run waits while so much is not written. */
const MAX_CHARS = 512 * 1024;

type Delta = Extract<SessionEvent, { readonly delta: string }>;

const isDelta = (event: SessionEvent | undefined): event is Delta => event !== undefined && 'delta' in event;

/** Two pieces of one text become one; null: they are of different ones. */
const joined = (one: SessionEvent | undefined, other: SessionEvent): SessionEvent | null => {
  if (!isDelta(one) || !isDelta(other) || one.type !== other.type || one.item_id !== other.item_id)
    return null;
  if ('summary_index' in one && 'summary_index' in other && one.summary_index !== other.summary_index)
    return null;
  return { ...one, delta: one.delta + other.delta };
};

/** Writes the events and items of a step in batches. No reader sees what is not written. */
export class StepWriter implements StepSink {
  readonly #options: StepWriterOptions;
  #events: SessionEvent[] = [];
  #rows: SessionItemRow[] = [];
  #chars = 0;
  #first: number;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();
  #isLost = false;
  #batchMs = BATCH_MS;
  #wroteAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StepWriterOptions) {
    this.#options = options;
    this.#first = options.first;
  }

  event(event: SessionEvent): void {
    const last = joined(this.#events.at(-1), event);
    if (last === null) this.#events.push(event);
    else this.#events.splice(-1, 1, last);
    this.#added(isDelta(event) ? event.delta.length : JSON.stringify(event).length);
  }

  row(row: SessionItemRow): void {
    this.#rows.push(row);
    this.#added((row.body?.length ?? 0) + (row.raw?.length ?? 0));
  }

  /** The session was changed: its next event has this number. Everything was flushed before. */
  changed(nextEvent: number): void {
    this.#first = nextEvent;
  }

  /** Waits until there is room for more. */
  async room(): Promise<void> {
    if (this.#chars > MAX_CHARS) await this.flush();
  }

  /** Waits until everything is written, or nothing can be. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #added(chars: number): void {
    this.#chars += chars;
    if (this.#isLost) return;
    if (this.#chars >= BATCH_CHARS) void this.flush();
    else this.#timer ??= setTimeout(() => void this.flush(), this.#restMs());
  }

  #restMs(): number {
    return Math.max(0, this.#wroteAtMs + this.#batchMs - performance.now());
  }

  async #write(): Promise<void> {
    const { store, row, instance, signal } = this.#options;
    const events = this.#events;
    const rows = this.#rows;
    this.#events = [];
    this.#rows = [];
    this.#chars = 0;
    if (this.#isLost || (events.length === 0 && rows.length === 0)) return;
    const writes = {
      events: events.map((event) => JSON.stringify(event)),
      turns: [],
      items: rows,
      nextItem: this.#options.nextItem(),
      eventsExpireAt: this.#options.eventsExpireAt(),
    };
    const at = { instance, first: this.#first };
    this.#wroteAtMs = performance.now();
    try {
      const isWritten = await insistently(() => store.append(row.owner, row.id, at, writes), signal);
      this.#batchMs = Math.min(Math.max(BATCH_MS, 2 * (performance.now() - this.#wroteAtMs)), MAX_BATCH_MS);
      if (isWritten) this.#first += events.length;
      else this.#lose(new Error('another instance runs the session'));
    } catch (error) {
      this.#lose(error);
    }
  }

  #lose(error: unknown): void {
    this.#isLost = true;
    this.#options.onLost(error);
  }
}
