import module from 'node:module';
import path from 'node:path';
import { Worker } from 'node:worker_threads';

import { FairLine } from '../kit/async/limiter.ts';

/**
 * Threads for work that may take for ever, such as compiling an untrusted JSON schema, or that loads large tables. After
 * a timeout the thread is terminated.
 *
 * Keys take turns, and one key never uses the last of several threads: jobs of other keys start at once, or after one
 * job.
 */
export interface ThreadPool<Job, Result> {
  /** `key` identifies the owner of the job. Never rejects. */
  run(job: Job, key: string): Promise<JobOutcome<Result>>;
  /** Starts a thread, because a job is expected. */
  warmUp(): void;
  /** Terminates every thread and its job. */
  close(): Promise<void>;
}

export type JobOutcome<Result> =
  | { readonly kind: 'done'; readonly result: Result }
  | { readonly kind: 'given-up'; readonly reason: GiveUpReason };

/** `late`: timed out. `crowded`: waited too long, or was dropped for another key. `broken`: the thread ended by itself. */
export type GiveUpReason = 'late' | 'crowded' | 'broken';

export interface ThreadTimes {
  /** For a job, once its thread is ready. */
  readonly timeoutMs: number;
  /** For a job in the queue. */
  readonly waitMs: number;
}

export interface ThreadPoolOptions extends ThreadTimes {
  /** The thread's module, which calls `serveJobs`. */
  readonly file: URL;
  readonly threads: number;
  /** Above this, the newest job of the key with the most jobs is dropped. */
  readonly maxWaiting: number;
  readonly maxMemoryMb?: number;
}

/**
 * Node ends a thread that exceeds this, but a thread that fills its memory within one operation ends the whole process.
 * So this is far above what a job can fill before its timeout.
 */
const MAX_MEMORY_MB = 1_024;

/** The URL of a module in the same folder: a source file in a clone, a built file in a package. */
export const besideModule = (url: string, name: string): URL =>
  new URL(`./${name}${url.endsWith('.ts') ? '.ts' : '.js'}`, url);

/** The variables of a thread: it needs none, but keeps its compiled code where this process does. */
export const threadEnvironment = (): Readonly<Record<string, string>> => {
  const folder = module.getCompileCacheDir();
  // Each version of Node has a folder in it.
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: path.dirname(folder) };
};

/** A thread loads its modules first, on a machine that may be busy. */
const START_TIMEOUT_MS = 20_000;

export const createThreadPool = <Job, Result>(options: ThreadPoolOptions): ThreadPool<Job, Result> =>
  new Pool<Job, Result>(options);

interface QueuedJob<Job, Result> {
  readonly job: Job;
  readonly key: string;
  readonly settle: (outcome: JobOutcome<Result>) => void;
  readonly timer: NodeJS.Timeout;
}

interface Thread<Job, Result> {
  readonly worker: Worker;
  isReady: boolean;
  current: QueuedJob<Job, Result> | null;
  timer: NodeJS.Timeout | null;
}

class Pool<Job, Result> implements ThreadPool<Job, Result> {
  readonly #options: ThreadPoolOptions;
  readonly #threads = new Set<Thread<Job, Result>>();
  readonly #line = new FairLine<QueuedJob<Job, Result>>();
  #waiting = 0;
  #isClosed = false;

  constructor(options: ThreadPoolOptions) {
    this.#options = options;
  }

  run(job: Job, key: string): Promise<JobOutcome<Result>> {
    if (this.#isClosed) return Promise.resolve(givenUp('broken'));
    const { promise, resolve } = Promise.withResolvers<JobOutcome<Result>>();
    const timer = setTimeout(() => this.#leave(waiting, 'crowded'), this.#options.waitMs);
    const waiting: QueuedJob<Job, Result> = { job, key, settle: resolve, timer };
    this.#line.join(key, waiting);
    this.#waiting += 1;
    this.#assign();
    if (this.#waiting > this.#options.maxWaiting) this.#leave(this.#mostCrowding(waiting), 'crowded');
    return promise;
  }

  warmUp(): void {
    if (this.#threads.size === 0 && !this.#isClosed) this.#start();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#dismissAll();
    await Promise.all([...this.#threads].map((thread) => this.#end(thread, 'broken')));
  }

  #dismissAll(): void {
    for (let [waiting] = this.#line.heads(); waiting !== undefined; [waiting] = this.#line.heads()) {
      this.#leave(waiting, 'broken');
    }
  }

  /** The job to drop: the newcomer, unless another key has more jobs. */
  #mostCrowding(newcomer: QueuedJob<Job, Result>): QueuedJob<Job, Result> {
    const key = this.#line.longest() ?? newcomer.key;
    if (this.#line.lengthOf(key) <= this.#line.lengthOf(newcomer.key)) return newcomer;
    return this.#line.newestOf(key) ?? newcomer;
  }

  #leave(waiting: QueuedJob<Job, Result>, reason: GiveUpReason): void {
    // A job that has left the queue may time out at the same moment.
    if (!this.#line.leave(waiting.key, waiting)) return;
    this.#waiting -= 1;
    clearTimeout(waiting.timer);
    waiting.settle(givenUp(reason));
  }

  /** Assigns jobs to idle threads, and starts threads if all are busy. */
  #assign(): void {
    for (const thread of this.#threads) {
      if (thread.isReady && thread.current === null) this.#give(thread);
    }
    const idle = [...this.#threads].filter((thread) => thread.current === null).length;
    const wanted = [...this.#line.heads()]
      .map(({ key }) => Math.min(this.#shareLeft(key), this.#line.lengthOf(key)))
      .reduce((sum, count) => sum + count, 0);
    if (wanted > idle && this.#threads.size < this.#options.threads) this.#start();
  }

  /** The first queued job whose key may use another thread. */
  #next(): QueuedJob<Job, Result> | null {
    for (const first of this.#line.heads()) if (this.#shareLeft(first.key) > 0) return first;
    return null;
  }

  /** How many more threads a key may use. */
  #shareLeft(key: string): number {
    const taken = [...this.#threads].filter(({ current }) => current?.key === key).length;
    return Math.max(1, this.#options.threads - 1) - taken;
  }

  #give(thread: Thread<Job, Result>): void {
    const next = this.#next();
    if (next === null) return;
    this.#line.serve(next.key, next);
    this.#waiting -= 1;
    clearTimeout(next.timer);
    thread.current = next;
    thread.timer = setTimeout(() => void this.#end(thread, 'late'), this.#options.timeoutMs);
    thread.worker.postMessage(next.job);
  }

  #start(): void {
    const worker = new Worker(this.#options.file, {
      // It needs no options.
      env: threadEnvironment(),
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#options.maxMemoryMb ?? MAX_MEMORY_MB },
    });
    const thread: Thread<Job, Result> = { worker, isReady: false, current: null, timer: null };
    this.#threads.add(thread);
    thread.timer = setTimeout(() => void this.#end(thread, 'broken'), START_TIMEOUT_MS);
    worker.on('message', (message: 'ready' | { readonly result: Result }) => {
      if (thread.timer !== null) clearTimeout(thread.timer);
      thread.timer = null;
      if (message === 'ready') thread.isReady = true;
      else {
        const { current } = thread;
        thread.current = null;
        current?.settle({ kind: 'done', result: message.result });
      }
      this.#assign();
    });
    // Out of memory, or a bug: the next job gets another thread.
    worker.on('error', () => void this.#end(thread, 'broken'));
    worker.on('exit', () => void this.#end(thread, 'broken'));
    // Last, because adding listeners refs it. An idle thread must not keep the process alive.
    worker.unref();
  }

  async #end(thread: Thread<Job, Result>, reason: GiveUpReason): Promise<void> {
    if (!this.#threads.delete(thread)) return;
    if (thread.timer !== null) clearTimeout(thread.timer);
    const { current } = thread;
    thread.current = null;
    current?.settle(givenUp(reason));
    // If a thread cannot start, waiting jobs are dropped instead of trying for ever.
    if (!thread.isReady) this.#dismissAll();
    if (!this.#isClosed) this.#assign();
    await thread.worker.terminate();
  }
}

const givenUp = (reason: GiveUpReason) => ({ kind: 'given-up', reason }) as const;
