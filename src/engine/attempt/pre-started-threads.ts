import type { AppServer } from '../../codex/app-server.ts';
import type { ParamsOf } from '../../codex/protocol/methods.ts';
import type { Lease } from '../../codex/worker/supervisor.ts';
import type { Clock } from '../../kit/ambient.ts';
import { isLongerThan } from '../../kit/json/json-writer.ts';
import { forgetOldest } from '../../kit/collections/forget-oldest.ts';

type ThreadStart = ParamsOf<'thread/start'>;

/** What a thread reads when it is started, such as the login, may change; a spare is not kept for long. */
const MAX_AGE_MS = 5 * 60_000;
/** Kinds of threads with a spare, for each worker. */
const MAX_SPARES = 8;
/** Kinds of threads that are remembered: a spare is worth its work only for a kind that comes again. */
const MAX_KINDS = 64;
const MAX_KIND_CHARS = 64 * 1024;

/** How a thread is started, and what tells it from others. */
export interface ThreadKind {
  readonly start: ThreadStart;
  /** Null: comparing such threads would cost more than it saves. */
  readonly key: string | null;
}

/** Written out once for a turn: tools can be long. */
export const threadKind = (start: ThreadStart): ThreadKind => ({
  start,
  key: isLongerThan(start, MAX_KIND_CHARS) ? null : JSON.stringify(start),
});

interface PreStartedThread {
  /** Null while it is on its way. */
  threadId: string | null;
  readonly at: number;
  /** Given up while it was on its way: it is closed when it comes. */
  isUnwanted: boolean;
}

/**
 * Every request needs a fresh thread, and starting one takes about 7 ms. Requests of one client are
 * mostly of one kind (model, tools, settings), so when a turn is over the next thread of its kind is
 * started ahead: empty and unused, like any other. A worker takes its spares along when it goes.
 */
export class PreStartedThreads {
  readonly #clock: Clock;
  readonly #preStarted = new WeakMap<AppServer, Map<string, PreStartedThread>>();
  readonly #kinds = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A thread of this kind that nobody has used; null if there is none. */
  take({ appServer }: Lease, { key }: ThreadKind): string | null {
    const preStarted = this.#preStarted.get(appServer);
    if (preStarted === undefined || key === null) return null;
    const preStartedThread = preStarted.get(key);
    if (preStartedThread === undefined || preStartedThread.threadId === null) return null;
    preStarted.delete(key);
    if (this.#clock.now() - preStartedThread.at < MAX_AGE_MS) return preStartedThread.threadId;
    giveUp(appServer, preStartedThread);
    return null;
  }

  /** A turn on such a thread is over: have another one ready. */
  async prepare(lease: Lease, { start, key }: ThreadKind): Promise<void> {
    if (key === null || !this.#comesAgain(key) || !lease.isCurrent()) return;
    const { appServer } = lease;
    const preStarted = this.#preStarted.get(appServer) ?? new Map<string, PreStartedThread>();
    this.#preStarted.set(appServer, preStarted);
    if (preStarted.has(key)) return;
    // The one that has waited longest is given up.
    const [longest] = preStarted;
    if (preStarted.size >= MAX_SPARES && longest !== undefined) {
      preStarted.delete(longest[0]);
      giveUp(appServer, longest[1]);
    }
    const preStartedThread: PreStartedThread = { threadId: null, at: this.#clock.now(), isUnwanted: false };
    preStarted.set(key, preStartedThread);
    try {
      const { thread } = await appServer.request('thread/start', start);
      preStartedThread.threadId = thread.id;
      if (preStartedThread.isUnwanted) giveUp(appServer, preStartedThread);
    } catch {
      // Whoever needs a thread will start one, and meet the same trouble where it can be told.
      if (preStarted.get(key) === preStartedThread) preStarted.delete(key);
    }
  }

  #comesAgain(key: string): boolean {
    const isKnown = this.#kinds.delete(key);
    this.#kinds.add(key);
    forgetOldest(this.#kinds, MAX_KINDS);
    return isKnown;
  }
}

/** Closes it. A worker that is gone has closed it already. */
const giveUp = (appServer: AppServer, preStartedThread: PreStartedThread): void => {
  preStartedThread.isUnwanted = true;
  if (preStartedThread.threadId === null) return;
  appServer.request('thread/unsubscribe', { threadId: preStartedThread.threadId }).catch(() => {});
};
