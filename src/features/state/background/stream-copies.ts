import type { StreamCopy } from '../../../http/turn/start-turn.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { within } from '../../../kit/async/wait.ts';
import { FairBudget } from '../../../kit/collections/fair-budget.ts';
import type { EventCopy, EventStore } from '../store/port.ts';
import type { LiveEvents } from './event-log.ts';
import { SHORT_TTL_MS } from '../turn-states.ts';

export interface StreamCopiesOptions {
  readonly store: Pick<EventStore, 'copy' | 'expire'>;
  readonly clock: Clock;
  /** The events are in memory from now on. */
  readonly show: (responseId: string, live: LiveEvents) => void;
  /** They are in the store, or dropped. */
  readonly hide: (responseId: string) => void;
  /** A stream that cannot be sent again: it is too long, too many run, too many are kept, or the store failed. */
  readonly onDropped: (why: DropReason) => void;
}

export type DropReason = 'long' | 'memory' | 'disk' | 'store';

export interface StreamCopyLimits {
  /** Characters of one stream. */
  readonly one: number;
  /** Of all streams that are being sent. */
  readonly running: number;
  /** Of all streams that are kept. */
  readonly kept: number;
}

const MB = 1024 * 1024;
const LIMITS: StreamCopyLimits = { one: 2 * MB, running: 64 * MB, kept: 512 * MB };

/** A stream that is being sent. */
interface RunningCopy {
  readonly key: string;
  readonly texts: Texts;
  readonly drop: (why: DropReason) => void;
}

/** One that has ended is being written. */
const newestSent = (own: readonly RunningCopy[]): RunningCopy | undefined =>
  own.findLast(({ texts }) => !texts.isEnded);

/** One that is written when those before it are. */
interface WaitingCopy {
  readonly row: EventCopy;
  readonly settle: (why: DropReason | null) => void;
}

/** So many streams are written together at most, and so many characters: the event loop would notice more. */
const MAX_TOGETHER = 16;
const MAX_CHARS_TOGETHER = 256 * 1024;
/** For what still waits when the server ends. */
const CLOSE_MS = 5_000;

/** A stream that was written and has not expired. */
interface KeptCopy {
  readonly key: string;
  readonly responseId: string;
  readonly expiresAt: number;
}

/** Keeps the streams of stored foreground responses for a while, so that they can be sent again. Keys share the room. */
export class StreamCopies {
  readonly #options: StreamCopiesOptions;
  readonly #limits: StreamCopyLimits;
  readonly #running: FairBudget<RunningCopy>;
  readonly #kept: FairBudget<KeptCopy>;
  /** The oldest first. */
  readonly #written = new Set<KeptCopy>();
  /** The oldest first. */
  readonly #waiting: WaitingCopy[] = [];
  /** Until none waits any more. */
  #writing: Promise<void> | null = null;

  constructor(options: StreamCopiesOptions, limits = LIMITS) {
    this.#options = options;
    this.#limits = limits;
    this.#running = new FairBudget({ capacity: limits.running, first: newestSent });
    this.#kept = new FairBudget({
      capacity: limits.kept,
      first: (own, asking) => (own.includes(asking) ? asking : own[0]),
    });
  }

  open(owner: string, responseId: string): StreamCopy {
    const { show, hide, onDropped } = this.#options;
    const texts = new Texts();
    show(responseId, texts);
    const drop = (why: DropReason | null): void => {
      this.#running.release(running);
      texts.clear();
      hide(responseId);
      if (why !== null) onDropped(why);
    };
    const running: RunningCopy = { key: owner, texts, drop };
    return {
      add: (text) => {
        if (texts.isEnded) return;
        texts.add(text);
        this.#running.hold(running, text.length);
        if (texts.chars > this.#limits.one) drop('long');
        else if (!this.#running.fits(owner, 0)) {
          for (const copy of this.#running.yieldingTo(running, 0) ?? [running]) copy.drop('memory');
        }
      },
      end: () => {
        if (texts.isEnded) return;
        if (!texts.isComplete) drop(null);
        else void this.#write(owner, responseId, texts).then(drop);
      },
    };
  }

  /** Off the path of the answer: the client has its last byte. Returns why the copy was not written. */
  async #write(owner: string, responseId: string, texts: Texts): Promise<DropReason | null> {
    const now = this.#options.clock.now();
    const body = texts.end();
    const expiresAt = now + SHORT_TTL_MS;
    const copy: KeptCopy = { key: owner, responseId, expiresAt };
    if (!this.#makeRoomFor(copy, body.length, now)) return 'disk';
    this.#kept.hold(copy, body.length);
    this.#written.add(copy);
    const { promise, resolve } = Promise.withResolvers<DropReason | null>();
    const row = { owner, responseId, count: texts.count, body, expiresAt };
    this.#waiting.push({ row, settle: resolve });
    this.#writing ??= this.#writeWaiting();
    return promise;
  }

  /** Waits for those that have ended, within a limit. */
  async close(): Promise<void> {
    if (this.#writing !== null) await within(this.#writing, CLOSE_MS);
  }

  /** Streams that end while others are written are written together. Never rejects. */
  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const copies = this.#nextTogether();
      // The responses themselves are stored. Why the store failed is logged where it is noticed.
      const why = await this.#options.store.copy(copies.map(({ row }) => row)).then(
        () => null,
        () => 'store' as const,
      );
      for (const { settle } of copies) settle(why);
    }
    this.#writing = null;
  }

  #nextTogether(): readonly WaitingCopy[] {
    let chars = 0;
    const end = this.#waiting.findIndex(({ row }, index) => {
      chars += row.body.length;
      return index > 0 && (index >= MAX_TOGETHER || chars > MAX_CHARS_TOGETHER);
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }

  /** False: the copy must not be kept. */
  #makeRoomFor(copy: KeptCopy, chars: number, now: number): boolean {
    for (const old of this.#written) {
      if (old.expiresAt > now) break;
      this.#forget(old);
    }
    const yielding = this.#kept.yieldingTo(copy, chars);
    for (const old of yielding ?? []) {
      this.#forget(old);
      this.#options.onDropped('disk');
      // A copy that stays is swept later.
      this.#options.store.expire(old.responseId, now).catch(() => undefined);
    }
    return yielding !== null;
  }

  #forget(copy: KeptCopy): void {
    this.#written.delete(copy);
    this.#kept.release(copy);
  }
}

/** The last event of every stream. */
const DONE = 'data: [DONE]\n\n';

class Texts implements LiveEvents {
  readonly #texts: string[] = [];
  chars = 0;
  isEnded = false;

  get count(): number {
    return this.#texts.length;
  }

  get isComplete(): boolean {
    return this.#texts.at(-1)?.endsWith(DONE) === true;
  }

  add(text: string): void {
    this.#texts.push(text);
    this.chars += text.length;
  }

  from(number: number): readonly string[] {
    return this.#texts.slice(number);
  }

  end(): string {
    this.isEnded = true;
    return this.#texts.join('');
  }

  clear(): void {
    this.isEnded = true;
    this.#texts.length = 0;
  }
}
