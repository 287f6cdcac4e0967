import { Worker } from 'node:worker_threads';

import type { GatewayError } from '../../canonical/failure/failure.ts';
import { threadEnvironment } from '../../threads/thread-pool.ts';
import { keyOf } from '../operation.ts';
import { unavailable } from '../store-errors.ts';
import type { StoreSync } from '../store-options.ts';
import {
  errorOf,
  type FromThread,
  type OperationResult,
  type SqliteThreadSettings,
  type ToThread,
} from './protocol.ts';

export interface DatabaseThreadOptions {
  readonly module: URL;
  readonly file: string;
  readonly keys: readonly string[];
  /** For each operation, including its wait. */
  readonly timeoutMs: number;
  readonly sync: StoreSync;
  readonly now: () => number;
  /** The thread ended by itself, and when another one is ready. */
  readonly onLost: (reason: string) => void;
  readonly onBack: () => void;
}

/** Limits of what waits for the database: far more than it can do within the time limit of one operation. */
const MAX_WAITING = 10_000;
const MAX_WAITING_CHARS = 256 * 1024 * 1024;

/** Between two starts of a thread that does not live long. */
const FIRST_RESTART_MS = 100;
const MAX_RESTART_MS = 5_000;

/** A checkpoint of the log when the file is closed. */
const CLOSE_TIMEOUT_MS = 10_000;

interface PendingCall {
  readonly message: ToThread;
  readonly chars: number;
  readonly timer: NodeJS.Timeout;
  readonly settle: (outcome: OperationResult | GatewayError) => void;
}

/** The main thread's end of the thread with the SQLite file. Starts another thread if that one ends. */
export class DatabaseThread {
  readonly #options: DatabaseThreadOptions;
  readonly #pending = new Map<number, PendingCall>();
  #worker: Worker | null = null;
  #isReady = false;
  #isClosed = false;
  #chars = 0;
  #nextId = 0;
  #restartMs = FIRST_RESTART_MS;
  #restart: NodeJS.Timeout | null = null;
  #onExit: () => void = () => undefined;

  constructor(options: DatabaseThreadOptions) {
    this.#options = options;
  }

  /** Starts the thread. Rejects if it cannot open the file. */
  async open(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#start((problem) => (problem === null ? resolve() : reject(new Error(problem))));
    await promise;
  }

  async run(name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#isClosed) throw unavailable('it is closed');
    const chars = charsOf(args);
    if (this.#pending.size >= MAX_WAITING || (this.#chars > 0 && this.#chars + chars > MAX_WAITING_CHARS)) {
      throw unavailable('too many operations wait for it');
    }
    const outcome = await this.#send(name, args, chars);
    if ('result' in outcome) return outcome.result;
    throw outcome instanceof Error ? outcome : errorOf(outcome);
  }

  /** Waits for the operations that were started, each of which has a time limit. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    const worker = this.#worker;
    if (worker === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onExit = resolve;
    worker.ref();
    worker.postMessage({ kind: 'close' } satisfies ToThread);
    const timer = setTimeout(resolve, CLOSE_TIMEOUT_MS);
    await promise;
    clearTimeout(timer);
    await worker.terminate();
    this.#failAll('it is closed');
  }

  #send(name: string, args: readonly unknown[], chars: number): Promise<OperationResult | GatewayError> {
    const { timeoutMs, now } = this.#options;
    const id = this.#nextId;
    this.#nextId += 1;
    const deadline = process.hrtime.bigint() + BigInt(timeoutMs) * 1_000_000n;
    const message: ToThread = { kind: 'run', id, name, key: keyOf(args), chars, args, now: now(), deadline };
    const { promise, resolve } = Promise.withResolvers<OperationResult | GatewayError>();
    const timer = setTimeout(
      () => this.#settle(id, unavailable(`it did not answer within ${timeoutMs} ms`)),
      timeoutMs,
    );
    this.#pending.set(id, { message, chars, timer, settle: resolve });
    this.#chars += chars;
    // The process stays alive for what it has begun.
    if (this.#pending.size === 1) this.#worker?.ref();
    if (this.#isReady) this.#worker?.postMessage(message);
    return promise;
  }

  #settle(id: number, outcome: OperationResult | GatewayError): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    this.#chars -= pending.chars;
    clearTimeout(pending.timer);
    if (this.#pending.size === 0) this.#worker?.unref();
    pending.settle(outcome);
  }

  #failAll(reason: string): void {
    for (const id of this.#pending.keys()) this.#settle(id, unavailable(reason));
  }

  /** `onOpen` gets what is wrong, or null. Only the first start of all has one. */
  #start(onOpen: ((problem: string | null) => void) | null): void {
    const { module, file, keys, timeoutMs, sync, now } = this.#options;
    const worker = new Worker(module, {
      workerData: { file, keys, busyMs: timeoutMs, sync, now: now() } satisfies SqliteThreadSettings,
      env: threadEnvironment(),
      // Node 22 warns about its SQLite.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#worker = worker;
    let problem = 'it ended by itself';
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'ended') this.#settle(message.id, message);
      else if (message.kind === 'failed-to-open') problem = message.message;
      else {
        this.#begin(worker);
        if (onOpen === null) this.#options.onBack();
        onOpen?.(null);
      }
    });
    worker.on('error', (error) => (problem = error instanceof Error ? error.message : String(error)));
    worker.on('exit', () => {
      if (onOpen !== null && !this.#isReady) this.#isClosed = true;
      onOpen?.(problem);
      this.#end(problem);
    });
    // Last, because adding listeners refs it. An idle thread must not keep the process alive.
    if (onOpen === null && this.#pending.size === 0) worker.unref();
  }

  #begin(worker: Worker): void {
    this.#isReady = true;
    this.#restartMs = FIRST_RESTART_MS;
    for (const { message } of this.#pending.values()) worker.postMessage(message);
    if (this.#pending.size === 0) worker.unref();
  }

  #end(reason: string): void {
    const wasReady = this.#isReady;
    this.#worker = null;
    this.#isReady = false;
    this.#onExit();
    // Operations that wait for a start have their own time limits.
    if (wasReady || this.#isClosed) this.#failAll(`its thread ended (${reason})`);
    if (this.#isClosed) return;
    if (wasReady) this.#options.onLost(reason);
    this.#restart = setTimeout(() => this.#start(null), this.#restartMs);
    this.#restart.unref();
    this.#restartMs = Math.min(this.#restartMs * 2, MAX_RESTART_MS);
  }
}

/** The length of all texts in the arguments. */
const charsOf = (value: unknown): number => {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce((sum: number, part) => sum + charsOf(part), 0);
};
