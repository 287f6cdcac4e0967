import { failureOf, gatewayError } from '../../canonical/failure/failure.ts';
import { sseResponse } from '../../http/answer/sse-response.ts';
import type { Exchange } from '../../http/exchange/exchange.ts';
import type { Authenticator } from '../../http/guards/authenticate.ts';
import { hasScope } from '../../http/guards/scopes.ts';
import type { TurnDeps } from '../../http/turn/start-turn.ts';
import type { Clock } from '../../kit/ambient.ts';
import { Limiter } from '../../kit/async/limiter.ts';
import type { Frame } from '../../turns/api.ts';
import type { RequestRecord } from './record.ts';

/** A message to readers. `snapshot`: everything that runs, the newest first; it replaces what the reader has. */
export type FeedMessage =
  | { readonly event: 'snapshot'; readonly requests: readonly RequestRecord[]; readonly leftOut: number }
  | { readonly event: ChangeName; readonly request: RequestRecord }
  /** Messages that the reader was too slow for. A snapshot follows. */
  | { readonly event: 'dropped'; readonly count: number };

type ChangeName = 'request.started' | 'request.changed' | 'request.ended';

/** A request that is watched. */
export interface WatchedRequest {
  readonly record: () => RequestRecord;
}

export interface LiveFeedOptions {
  readonly running: () => Iterable<WatchedRequest>;
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
  readonly #changes = new Map<WatchedRequest, ChangeName>();
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(options: LiveFeedOptions) {
    this.#options = options;
  }

  get readers(): number {
    return this.#readers.size;
  }

  changed(request: WatchedRequest, change: ChangeName): void {
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

export interface LiveDeps {
  readonly feed: LiveFeed;
  readonly authenticate: Authenticator;
  /** The places of readers. */
  readonly readers: Limiter;
  readonly turns: Pick<TurnDeps, 'keepaliveMs' | 'onBug'>;
  /** How often a reader's key or session is checked again. */
  readonly checkEveryMs?: number;
}

const CHECK_EVERY_MS = 10_000;
const MAX_READERS = 64;
const WAIT_MS = 1_000;

/** Places for readers. A key that has less than its share takes that of the oldest reader of the key with the most. */
export const createReaderPlaces = (options: {
  readonly clock: Clock;
  /** Whether the last place is for this key, too. */
  readonly isAdmin: (keyId: string) => boolean;
}): Limiter =>
  new Limiter({
    ...options,
    capacity: MAX_READERS,
    maxWaiting: MAX_READERS,
    waitMs: WAIT_MS,
    onlyShareWaits: true,
    onChange() {},
    refuse: () =>
      gatewayError('server_overloaded', {
        message: `Too many readers of live requests: at most ${MAX_READERS} are served.`,
        retryAfterSeconds: 5,
      }),
  });

/** Streams what runs on this server: a snapshot, then every change. */
export const liveRequests = async (
  http: Request,
  exchange: Exchange,
  { feed, authenticate, readers, turns, checkEveryMs = CHECK_EVERY_MS }: LiveDeps,
): Promise<Response> => {
  const over = new AbortController();
  const permit = await readers.enter(exchange.caller(), 1, exchange.signal, {
    yielding: {
      rank: () => exchange.startedAt,
      giveWay() {
        over.abort();
        return true;
      },
    },
  });
  exchange.atEnd(() => permit.leave());
  const { method, url, headers } = http;
  const check = async (): Promise<void> => {
    try {
      const caller = await authenticate({ method, url, headers, address: exchange.address });
      if (!hasScope(caller, ['read'])) over.abort();
    } catch (error) {
      // The database of sessions may be away for a moment.
      if ([401, 403].includes(failureOf(error).status)) over.abort();
    }
  };
  const timer = setInterval(() => void check(), checkEveryMs).unref();
  exchange.atEnd(() => clearInterval(timer));
  const texts = feed.read(AbortSignal.any([exchange.signal, over.signal]));
  return sseResponse(framesOf(texts), {
    keepaliveMs: turns.keepaliveMs,
    headers: {},
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug: (error) => turns.onBug(error, exchange),
    endOfBroken: null,
  });
};

async function* framesOf(texts: AsyncIterable<string>): AsyncGenerator<Frame> {
  for await (const text of texts) yield { event: null, data: null, text };
}
