import type { AppServer } from '../../../codex/app-server.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import type { WorkerLease } from '../../../codex/worker/supervisor.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { isLongerThan } from '../../../kit/json/json-writer.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';

type ThreadStart = ParamsOf<'thread/start'>;

/** What a thread reads at its start, such as the login, may change. */
const MAX_AGE_MS = 5 * 60_000;
/** Pre-started threads of each worker. */
const MAX_THREADS = 8;
/** Remembered kinds: only a kind that is used again is worth a pre-started thread. */
const MAX_KINDS = 64;
const MAX_KIND_CHARS = 64 * 1024;

/** How a thread is started. */
export interface ThreadKind {
  readonly start: ThreadStart;
  /** Identifies the kind; null: too long to compare. */
  readonly key: string | null;
}

export const threadKind = (start: ThreadStart): ThreadKind => ({
  start,
  key: isLongerThan(start, MAX_KIND_CHARS) ? null : JSON.stringify(start),
});

interface PreStartedThread {
  /** Null while it is being started. */
  threadId: string | null;
  readonly at: number;
  /** Given up while it was being started: closed as soon as it is. */
  isUnwanted: boolean;
}

/**
 * Starts threads before they are needed: starting one takes about 7 ms, and requests of one client are mostly of one
 * kind (model, tools, settings). When a turn ends, the next thread of its kind is started. They end with their worker.
 */
export class PreStartedThreads {
  readonly #clock: Clock;
  readonly #threads = new WeakMap<AppServer, Map<string, PreStartedThread>>();
  readonly #kinds = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The id of an unused thread of this kind; null if there is none. */
  take({ appServer }: WorkerLease, { key }: ThreadKind): string | null {
    const threads = this.#threads.get(appServer);
    const thread = key === null ? undefined : threads?.get(key);
    if (key === null || thread?.threadId == null) return null;
    threads?.delete(key);
    if (this.#clock.now() - thread.at < MAX_AGE_MS) return thread.threadId;
    giveUp(appServer, thread);
    return null;
  }

  /** Starts the next thread of this kind, if the kind was used before. */
  async prepare(lease: WorkerLease, { start, key }: ThreadKind): Promise<void> {
    if (key === null || !this.#comesAgain(key) || !lease.isCurrent()) return;
    const { appServer } = lease;
    const threads = this.#threads.get(appServer) ?? new Map<string, PreStartedThread>();
    this.#threads.set(appServer, threads);
    if (threads.has(key)) return;
    const [oldest] = threads;
    if (threads.size >= MAX_THREADS && oldest !== undefined) {
      threads.delete(oldest[0]);
      giveUp(appServer, oldest[1]);
    }
    const next: PreStartedThread = { threadId: null, at: this.#clock.now(), isUnwanted: false };
    threads.set(key, next);
    try {
      const { thread } = await appServer.request('thread/start', start);
      next.threadId = thread.id;
      if (next.isUnwanted) giveUp(appServer, next);
    } catch {
      // A turn that needs a thread starts one itself, and reports the error.
      if (threads.get(key) === next) threads.delete(key);
    }
  }

  #comesAgain(key: string): boolean {
    const isKnown = this.#kinds.delete(key);
    this.#kinds.add(key);
    forgetOldest(this.#kinds, MAX_KINDS);
    return isKnown;
  }
}

/** Closes the thread. A worker that has exited has closed it already. */
const giveUp = (appServer: AppServer, thread: PreStartedThread): void => {
  thread.isUnwanted = true;
  const { threadId } = thread;
  if (threadId !== null) appServer.request('thread/unsubscribe', { threadId }).catch(() => {});
};
