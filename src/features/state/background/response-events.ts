import { sseBlocks } from '../../../kit/text/sse-blocks.ts';
import type { EventBatch, StateStore } from '../store/port.ts';
import { EventLog, type EventLogOptions, type LiveEvents } from './event-log.ts';
import { isRunning } from '../stored-turn.ts';

export interface ResponseEventsOptions {
  readonly store: StateStore;
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

/** Where a reader finds the events of one response. */
interface EventSource {
  readonly owner: string;
  readonly id: string;
  readonly store: StateStore;
  /** The events in memory; null: they are only in the store. */
  readonly live: () => LiveEvents | null;
  /** Calls back at every change of the response. Returns a function that stops it. */
  readonly onChange: (wake: () => void) => () => void;
  /** The texts of the events that end the stream of the response, numbered from `first` on. */
  readonly ending: (first: number) => Promise<readonly string[]>;
}

/** The last event of every stream. */
const DONE = 'data: [DONE]\n\n';
/** A change is seen after this time even if it was not reported, because a connection of the database was lost. */
const POLL_MS = 1_000;
/** The end of a response is stored before its last events are: a reader waits so long for them. */
const END_MS = 3_000;
const END_POLL_MS = 250;
/** The database may be away for some seconds. */
const MAX_FAILURES = 10;

/**
 * The texts of the events from a number on, and of those that are still to come, until the stream has ended or the signal
 * is aborted.
 */
export const readEvents = (
  source: EventSource,
  first: number,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> => new EventReader(source, first, signal).read();

class EventReader {
  readonly #source: EventSource;
  readonly #signal: AbortSignal;
  /** The number of the next event. */
  #at: number;
  /** How long to wait for a change if there is no event. */
  #waitMs = POLL_MS;
  #endedAtMs: number | null = null;
  #failures = 0;
  #changed = Promise.withResolvers<void>();

  constructor(source: EventSource, first: number, signal: AbortSignal) {
    this.#source = source;
    this.#at = first;
    this.#signal = signal;
  }

  async *read(): AsyncGenerator<string, void, undefined> {
    const wake = (): void => this.#changed.resolve();
    const stopWatching = this.#source.onChange(wake);
    this.#signal.addEventListener('abort', wake);
    try {
      while (!this.#signal.aborted) {
        // Before the events are read: what comes later ends the wait.
        this.#changed = Promise.withResolvers();
        const texts = await this.#next();
        if (texts === null) return;
        for (const text of texts) {
          if (this.#signal.aborted) return;
          this.#at += 1;
          yield text;
          if (text.endsWith(DONE)) return;
        }
        if (texts.length === 0) await this.#wait();
      }
    } finally {
      stopWatching();
      this.#signal.removeEventListener('abort', wake);
    }
  }

  /** The next events; empty: there are none yet; null: there will be none. */
  async #next(): Promise<readonly string[] | null> {
    const live = this.#source.live();
    const recent = live?.from(this.#at) ?? null;
    this.#waitMs = POLL_MS;
    if (live !== null && recent !== null && (recent.length > 0 || !live.isEnded)) return recent;
    try {
      const texts = await this.#fromStore();
      this.#failures = 0;
      return texts;
    } catch (error) {
      this.#failures += 1;
      if (this.#failures > MAX_FAILURES) throw error;
      return [];
    }
  }

  async #fromStore(): Promise<readonly string[] | null> {
    const texts = await this.#stored(this.#at);
    if (texts.length > 0) return texts;
    const { owner, id, store } = this.#source;
    const found = await store.responses.at(owner, id);
    if (found === null) return null;
    return isRunning(found.status) ? [] : this.#afterEnd();
  }

  /** The instance that ran the response may have died before it wrote the last events. */
  async #afterEnd(): Promise<readonly string[] | null> {
    if (this.#at > 0) {
      const [before] = await this.#stored(this.#at - 1);
      if (before === undefined || before.endsWith(DONE)) return null;
    }
    this.#endedAtMs ??= performance.now();
    if (performance.now() - this.#endedAtMs >= END_MS) return this.#source.ending(this.#at);
    this.#waitMs = END_POLL_MS;
    return [];
  }

  async #stored(from: number): Promise<readonly string[]> {
    const { id, store } = this.#source;
    return textsFrom(await store.events.after(id, from - 1, READ_CHARS), from);
  }

  async #wait(): Promise<void> {
    const timer = setTimeout(() => this.#changed.resolve(), this.#waitMs);
    await this.#changed.promise;
    clearTimeout(timer);
  }
}

const textsFrom = (batches: readonly EventBatch[], from: number): readonly string[] =>
  batches.flatMap(({ first, body }) => sseBlocks(body).slice(Math.max(0, from - first)));
