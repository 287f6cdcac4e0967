import type { EventBatch, Store } from '../store/store.ts';
import { EventLog, type EventLogOptions, type LiveEvents } from './event-log.ts';
import { readEvents, type EventSource } from './event-reader.ts';

export interface ResponseEventsOptions {
  readonly store: Pick<Store, 'events' | 'responses' | 'watch'>;
  /** The texts of the events that end the stream of a response, numbered from `first` on. */
  readonly ending: (owner: string, id: string, first: number) => Promise<readonly string[]>;
  readonly onError: (error: unknown) => void;
}

/** Characters of one read. */
const READ_CHARS = 256 * 1024;

/** The events of all streams: written by the instance that runs a response, read by every instance. */
export class ResponseEvents {
  readonly #options: ResponseEventsOptions;
  readonly #live = new Map<string, LiveEvents>();
  readonly #readers = new Map<string, Set<() => void>>();
  readonly #stopWatching: () => void;

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
    this.#stopWatching = options.store.watch((id) => {
      for (const one of id === '*' ? [...this.#readers.keys()] : [id]) this.#wake(one);
    });
  }

  /** A log whose readers on this instance read from memory until it is hidden. */
  open(options: Omit<EventLogOptions, 'store' | 'onError' | 'onChange'>): EventLog {
    const { store, onError } = this.#options;
    const id = options.responseId;
    const log = new EventLog({ ...options, store: store.events, onError, onChange: () => this.#wake(id) });
    this.#live.set(id, log);
    return log;
  }

  /** Events of a stream that is written when it has ended. */
  show(responseId: string, live: LiveEvents): void {
    this.#live.set(responseId, live);
  }

  /** From now on readers read from the store. */
  hide(responseId: string): void {
    this.#live.delete(responseId);
    this.#wake(responseId);
  }

  close(): void {
    this.#stopWatching();
  }

  /** Whether the response has events. */
  async has(responseId: string): Promise<boolean> {
    return this.#live.has(responseId) || (await this.#batches(responseId, -1)).length > 0;
  }

  /** The same, and waits for a while until there are some. */
  async appear(responseId: string, waitMs: number): Promise<boolean> {
    let changed = Promise.withResolvers<void>();
    let isLate = waitMs === 0;
    const stop = this.#onChange(responseId, () => changed.resolve());
    const timer = setTimeout(() => {
      isLate = true;
      changed.resolve();
    }, waitMs);
    try {
      for (;;) {
        changed = Promise.withResolvers();
        if (await this.has(responseId)) return true;
        if (isLate) return false;
        // It may be another change than new events.
        await changed.promise;
      }
    } finally {
      clearTimeout(timer);
      stop();
    }
  }

  /** The number of the next event in the store. */
  async next(responseId: string): Promise<number> {
    let next = 0;
    for (;;) {
      const last = (await this.#batches(responseId, next - 1)).at(-1)?.last;
      if (last === undefined) return next;
      next = last + 1;
    }
  }

  /** The texts of the events from a number on, until the stream has ended or the signal is aborted. */
  read(owner: string, id: string, first: number, signal: AbortSignal): AsyncIterable<string> {
    const source: EventSource = {
      owner,
      id,
      store: this.#options.store,
      live: () => this.#live.get(id) ?? null,
      onChange: (wake) => this.#onChange(id, wake),
      ending: (from) => this.#options.ending(owner, id, from),
    };
    return readEvents(source, first, signal);
  }

  #batches(id: string, after: number): Promise<readonly EventBatch[]> {
    return this.#options.store.events.after(id, after, READ_CHARS);
  }

  #wake(id: string): void {
    for (const wake of this.#readers.get(id) ?? []) wake();
  }

  #onChange(id: string, wake: () => void): () => void {
    const readers = this.#readers.get(id) ?? new Set();
    this.#readers.set(id, readers.add(wake));
    return () => {
      readers.delete(wake);
      if (readers.size === 0 && this.#readers.get(id) === readers) this.#readers.delete(id);
    };
  }
}
