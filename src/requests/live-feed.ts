import type { RequestRecord } from './record.ts';

/** A message to readers. `snapshot`: everything that runs, the newest first; it replaces what the reader has. */
export type FeedMessage =
  | { readonly event: 'snapshot'; readonly requests: readonly RequestRecord[]; readonly leftOut: number }
  | { readonly event: ChangeName; readonly request: RequestRecord }
  /** Messages that the reader was too slow for. A snapshot follows. */
  | { readonly event: 'dropped'; readonly count: number };

type ChangeName = 'request.started' | 'request.changed' | 'request.ended';

/** A request that is watched. */
export interface Watched {
  readonly record: () => RequestRecord;
}

export interface LiveFeedOptions {
  readonly running: () => Iterable<Watched>;
  /** Prints a message once for all readers. */
  readonly print: (message: FeedMessage) => string;
  /** Changes are collected for this long. */
  readonly collectMs?: number;
}

const COLLECT_MS = 30;
const MAX_SNAPSHOT = 500;
/** Characters that wait for one reader. */
const MAX_WAITING_CHARS = 512 * 1024;
/** Messages as text are objects of the heap, too. */
const MAX_WAITING = 2_000;

/** Shows running requests to readers. Without a reader it does nothing. */
export class LiveFeed {
  readonly #options: LiveFeedOptions;
  readonly #readers = new Set<FeedReader>();
  readonly #changes = new Map<Watched, ChangeName>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  get readers(): number {
    return this.#readers.size;
  }

  changed(request: Watched, change: ChangeName): void {
    if (this.#readers.size === 0) return;
    const before = this.#changes.get(request);
    // A request that began since the last message is new to the readers. One that ended, too, is shown with its end only.
    const isStill = before === 'request.started' && change === 'request.changed';
    if (!isStill) this.#changes.set(request, change);
    this.#timer ??= setTimeout(() => this.#flush(), this.#options.collectMs ?? COLLECT_MS).unref();
  }

  /** Texts to send, the first one a snapshot. Ends with the signal, or when the server stops. */
  async *read(signal: AbortSignal): AsyncGenerator<string> {
    const reader = new FeedReader(() => this.#snapshot(), this.#options.print);
    const stop = (): void => reader.close();
    if (this.#isClosed) return;
    // What waits here is in the snapshot.
    this.#flush();
    this.#readers.add(reader);
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (!signal.aborted) yield* reader.texts();
    } finally {
      signal.removeEventListener('abort', stop);
      this.#readers.delete(reader);
    }
  }

  /** Ends all readers. */
  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const reader of this.#readers) reader.close();
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const texts = [...this.#changes].map(([request, event]) =>
      this.#options.print({ event, request: request.record() }),
    );
    this.#changes.clear();
    for (const reader of this.#readers) reader.add(texts);
  }

  #snapshot(): FeedMessage {
    const running = [...this.#options.running()];
    const shown = running.slice(-MAX_SNAPSHOT).toReversed();
    return {
      event: 'snapshot',
      requests: shown.map((request) => request.record()),
      leftOut: running.length - shown.length,
    };
  }
}

/** What waits for one reader. */
class FeedReader {
  readonly #snapshot: () => FeedMessage;
  readonly #print: LiveFeedOptions['print'];
  #waiting: string[] = [];
  #chars = 0;
  #dropped = 0;
  #isClosed = false;
  #wake: (() => void) | null = null;

  constructor(snapshot: () => FeedMessage, print: LiveFeedOptions['print']) {
    this.#snapshot = snapshot;
    this.#print = print;
  }

  add(texts: readonly string[]): void {
    if (texts.length === 0) return;
    this.#waiting.push(...texts);
    for (const text of texts) this.#chars += text.length;
    if (this.#chars > MAX_WAITING_CHARS || this.#waiting.length > MAX_WAITING) {
      this.#dropped += this.#waiting.length;
      this.#take();
    }
    this.#wake?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  async *texts(): AsyncGenerator<string> {
    yield this.#print(this.#snapshot());
    while (!this.#isClosed) {
      if (this.#dropped > 0) yield this.#behind();
      else if (this.#waiting.length > 0) yield this.#take().join('');
      else await this.#more();
    }
  }

  #behind(): string {
    const count = this.#dropped + this.#waiting.length;
    this.#take();
    this.#dropped = 0;
    return this.#print({ event: 'dropped', count }) + this.#print(this.#snapshot());
  }

  #take(): readonly string[] {
    const taken = this.#waiting;
    this.#waiting = [];
    this.#chars = 0;
    return taken;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
    });
  }
}
