import type { AppServer } from '../../../codex/app-server.ts';
import { closeTurn } from '../../attempt/running-turn.ts';
import type { CarrierThread } from './carrier-thread.ts';

const MAX_THREADS = 32;

interface IdleThread {
  readonly thread: CarrierThread;
  readonly sinceMs: number;
  unwatch: () => void;
}

/** The threads of one worker that have completed a turn and can carry another one of the same caller. */
export class IdleThreads {
  readonly #appServer: AppServer;
  readonly #onChange: () => void;
  /** The oldest first. */
  #threads: readonly IdleThread[] = [];

  constructor(appServer: AppServer, onChange: () => void) {
    this.#appServer = appServer;
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#threads.length;
  }

  add(thread: CarrierThread, nowMs: number): void {
    const added: IdleThread = { thread, sinceMs: nowMs, unwatch: () => {} };
    this.#threads = [...this.#threads, added];
    // A connection that has ended reports that at once.
    added.unwatch = this.#appServer.watchThread(thread.threadId, ({ kind }) => {
      if (kind === 'closed') this.#keep((one) => one !== added);
    });
    if (this.size > MAX_THREADS) this.closeWhere((_, at) => at === 0);
    this.#onChange();
  }

  /** The one that was used last. */
  take(slug: string, caller: string): CarrierThread | null {
    const found = this.#threads.findLast(({ thread }) => thread.slug === slug && thread.caller === caller);
    if (found === undefined) return null;
    found.unwatch();
    this.#keep((one) => one !== found);
    return found.thread;
  }

  closeOlderThan(timeMs: number): void {
    this.closeWhere(({ sinceMs }) => sinceMs < timeMs);
  }

  closeWhere(isClosed: (one: IdleThread, at: number) => boolean): void {
    for (const { thread, unwatch } of this.#threads.filter(isClosed)) {
      unwatch();
      void closeTurn(this.#appServer, null, thread.threadId);
    }
    this.#keep((one, at) => !isClosed(one, at));
  }

  #keep(isKept: (one: IdleThread, at: number) => boolean): void {
    this.#threads = this.#threads.filter(isKept);
    this.#onChange();
  }
}
