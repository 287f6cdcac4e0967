import { charsIn } from '../../../kit/json/json.ts';
import type { AgentEvent } from './port.ts';

type Step = IteratorResult<AgentEvent, undefined>;

const OVER: Step = { done: true, value: undefined };

/** With more unread events, or more text of tools, the model is read no further. */
const MAX_UNREAD = 1024;
const MAX_UNREAD_CHARS = 4 * 1024 * 1024;

/** The events of a run, which one reader reads. Who produces many of them waits for it. */
export class EventQueue implements AsyncIterable<AgentEvent> {
  readonly #onLeft: () => Promise<void>;
  #unread: AgentEvent[] = [];
  #at = 0;
  #chars = 0;
  #end: { readonly error: unknown } | 'closed' | null = null;
  #reader: PromiseWithResolvers<Step> | null = null;
  #waiting: PromiseWithResolvers<void> | null = null;

  /** `onLeft` is called when the reader leaves before the end. */
  constructor(onLeft: () => Promise<void>) {
    this.#onLeft = onLeft;
  }

  get hasRoom(): boolean {
    return this.#unread.length - this.#at < MAX_UNREAD && this.#chars < MAX_UNREAD_CHARS;
  }

  push(event: AgentEvent): void {
    if (this.#end !== null) return;
    if (this.#reader !== null) this.#answer({ done: false, value: event });
    else {
      this.#unread.push(event);
      this.#chars += toolChars(event);
    }
  }

  /** Resolves when the reader has caught up, or nothing more is written. */
  room(): Promise<void> {
    if (this.hasRoom || this.#end !== null) return Promise.resolve();
    this.#waiting ??= Promise.withResolvers<void>();
    return this.#waiting.promise;
  }

  /** Nothing follows what is unread. */
  close(): void {
    this.#finish('closed');
  }

  /** The error follows what is unread. */
  fail(error: unknown): void {
    this.#finish({ error });
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    return {
      next: () => this.#next(),
      return: async () => {
        const isOver = this.#end !== null;
        this.#unread = [];
        this.close();
        if (!isOver) await this.#onLeft();
        return OVER;
      },
    };
  }

  async #next(): Promise<Step> {
    const event = this.#unread[this.#at];
    if (event !== undefined) {
      this.#chars -= toolChars(event);
      this.#take();
      return { done: false, value: event };
    }
    if (this.#end === 'closed') return OVER;
    if (this.#end !== null) {
      const { error } = this.#end;
      this.#end = 'closed';
      throw error;
    }
    this.#reader ??= Promise.withResolvers<Step>();
    return this.#reader.promise;
  }

  #take(): void {
    this.#at += 1;
    if (this.#at === this.#unread.length || this.#at > MAX_UNREAD) {
      this.#unread = this.#unread.slice(this.#at);
      this.#at = 0;
    }
    if (this.hasRoom) this.#wake();
  }

  #finish(end: { readonly error: unknown } | 'closed'): void {
    if (this.#end !== null) return;
    this.#end = end;
    this.#wake();
    if (this.#reader === null) return;
    if (end === 'closed') this.#answer(OVER);
    else {
      this.#end = 'closed';
      const reader = this.#reader;
      this.#reader = null;
      reader.reject(end.error);
    }
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = null;
  }

  #answer(step: Step): void {
    const reader = this.#reader;
    this.#reader = null;
    reader?.resolve(step);
  }
}

/** The length of what tools have written. */
const toolChars = (event: AgentEvent): number => {
  if (event.type === 'item-status') return event.more === undefined ? 0 : charsIn(event.more);
  return event.type === 'tool-progress' ? charsIn(event.progress) : 0;
};
