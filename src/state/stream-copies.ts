import type { Clock } from '../kit/ambient.ts';
import type { EventStore } from '../store/store.ts';
import type { LiveEvents } from './event-log.ts';
import { SHORT_TTL_MS } from './record-response.ts';

export interface StreamCopiesOptions {
  readonly store: Pick<EventStore, 'append'>;
  readonly clock: Clock;
  /** The events are in memory from now on. */
  readonly show: (responseId: string, live: LiveEvents) => void;
  /** They are in the store, or dropped. */
  readonly hide: (responseId: string) => void;
  /** A stream that cannot be sent again: it is too long, too many run, too many were kept lately, or the store failed. */
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

/** Collects the texts of a stream while it is sent. */
export interface StreamCopy {
  add(text: string): void;
  /** The last text was added, or the client has left before. */
  end(): void;
}

/** Keeps the streams of stored foreground responses for a while, so that they can be sent again. */
export class StreamCopies {
  readonly #options: StreamCopiesOptions;
  readonly #limits: StreamCopyLimits;
  #totalChars = 0;
  /** What was written and has not expired, the oldest first. */
  readonly #kept: { readonly expiresAt: number; readonly chars: number }[] = [];
  #keptChars = 0;

  constructor(options: StreamCopiesOptions, limits = LIMITS) {
    this.#options = options;
    this.#limits = limits;
  }

  open(owner: string, responseId: string): StreamCopy {
    const { show, hide, onDropped } = this.#options;
    const copy = new Texts();
    show(responseId, copy);
    const drop = (why: DropReason | null): void => {
      this.#totalChars -= copy.clear();
      hide(responseId);
      if (why !== null) onDropped(why);
    };
    return {
      add: (text) => {
        if (copy.isEnded) return;
        copy.add(text);
        this.#totalChars += text.length;
        if (copy.chars > this.#limits.one) drop('long');
        else if (this.#totalChars > this.#limits.running) drop('memory');
      },
      end: () => {
        if (copy.isEnded) return;
        if (!copy.isComplete) drop(null);
        else void this.#write(owner, responseId, copy).then(drop);
      },
    };
  }

  /** Off the path of the answer: the client has its last byte. Returns why the copy was not written. */
  async #write(owner: string, responseId: string, copy: Texts): Promise<DropReason | null> {
    const { store, clock } = this.#options;
    const now = clock.now();
    const body = copy.end();
    while ((this.#kept[0]?.expiresAt ?? Infinity) <= now) this.#keptChars -= this.#kept.shift()?.chars ?? 0;
    if (this.#keptChars + body.length > this.#limits.kept) return 'disk';
    const expiresAt = now + SHORT_TTL_MS;
    this.#kept.push({ expiresAt, chars: body.length });
    this.#keptChars += body.length;
    try {
      await store.append(owner, responseId, { first: 0, last: copy.count - 1, body }, expiresAt);
      return null;
    } catch {
      // The response itself is stored. Why the store failed is logged where it is noticed.
      return 'store';
    }
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

  /** Returns how long it was. */
  clear(): number {
    const { chars } = this;
    this.isEnded = true;
    this.#texts.length = 0;
    this.chars = 0;
    return chars;
  }
}
