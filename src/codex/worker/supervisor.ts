import {
  gatewayError,
  failure,
  GatewayError,
  type Failure,
  resourceFailureFor,
  resourceFailure,
  isResourceError,
} from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { AppServer } from '../app-server.ts';
import { checkEveryMs } from './health.ts';
import { type HealthProblem, leastLoaded, type RetireReason, type RetireLimits } from './lifecycle.ts';
import { Member } from './member.ts';
import { Starts } from './starts.ts';
import type { Vitals } from './vitals.ts';
import { IDLE_INTERVAL_MS } from './retirement.ts';
import type { Worker } from './worker.ts';

export interface WorkerLeases {
  /**
   * Leases a worker for one turn. Waits at most `waitMs` for one to become ready; then, and while the pool
   * drains, throws a GatewayError. If the signal is aborted, throws its reason.
   */
  lease(signal: AbortSignal): Promise<WorkerLease>;
}

export interface WorkerPool extends WorkerLeases {
  /** Whether a responsive worker is available. */
  readonly ready: boolean;
  /**
   * Resolves when the first worker is ready. Rejects without a retry if it cannot be started, except for
   * failures that are reported to clients: those are retried.
   */
  start(): Promise<void>;
  /** Replaces the workers one after the other; later leases use the new ones as soon as they are ready. */
  renew(): void;
  /**
   * Stops leasing; waits up to `timeoutMs` for current leases, then ends all processes. If called again, the
   * shorter wait counts.
   */
  drain(timeoutMs: number): Promise<void>;
  describe(): readonly WorkerDescription[];
}

export interface WorkerLease {
  readonly appServer: AppServer;
  /** Whether this worker may take another lease. */
  isCurrent(): boolean;
  /** Idempotent. */
  release(): void;
}

export interface WorkerDescription {
  readonly pid: number;
  readonly state: 'ready' | 'retiring' | 'stopping';
  readonly leases: number;
}

/** What happened in the pool, for logs and metrics. */
export type WorkerPoolEvent =
  | { readonly kind: 'worker-ready'; readonly pid: number }
  /** The worker is killed; `worker-lost` follows. */
  | { readonly kind: 'worker-ill'; readonly pid: number; readonly healthProblem: HealthProblem }
  | {
      readonly kind: 'worker-lost';
      readonly pid: number;
      readonly leases: number;
      /** Null: enough others serve, or one is already starting. */
      readonly restartInMs: number | null;
    }
  | ({ readonly kind: 'worker-worn'; readonly pid: number; readonly wear: RetireReason } & Partial<Vitals>)
  | { readonly kind: 'worker-stopped'; readonly pid: number }
  | { readonly kind: 'start-failed'; readonly error: unknown; readonly retryInMs: number }
  | { readonly kind: 'diagnostics-failed'; readonly pid: number; readonly error: unknown };

export interface WorkerPoolOptions extends RetireLimits {
  readonly spawnWorker: () => Promise<Worker>;
  /** Number of workers that serve at once. */
  readonly size: number;
  /** How long a worker may leave a ping unanswered while it sends nothing else. */
  readonly hangTimeoutMs: number;
  /** How long a lease may wait for a worker. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: WorkerPoolEvent) => void;
}

/**
 * Keeps a number of workers and replaces each separately: when one should retire, its successor is started
 * and takes over once it is ready, and the old one finishes its leases and stops. A lost or unhealthy worker
 * does not affect the others.
 */
export const createWorkerPool = (options: WorkerPoolOptions): WorkerPool => new SupervisedPool(options);

/** A class because its parts share much mutable state; callers see only the interface above. */
class SupervisedPool implements WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #waiting = createLeaseQueue<WorkerLease>();
  /** Serving, retiring and stopping workers. */
  readonly #members = new Set<Member>();
  readonly #leaving = new Set<Promise<void>>();
  readonly #starts: Starts;
  #timers: readonly NodeJS.Timeout[] = [];
  /** Why there is no worker, as a failure for clients. */
  #startFailure: Failure | null = null;
  #draining: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#starts = new Starts({
      start: () => this.#launch(),
      isWanted: () => this.#serving().filter((member) => !member.isToBeReplaced).length < options.size,
      clock: options.clock,
      onFailed: (error, retryInMs) => this.#onStartFailed(error, retryInMs),
    });
  }

  get ready(): boolean {
    return this.#draining === null && this.#serving().some((member) => !member.isSilent);
  }

  describe(): readonly WorkerDescription[] {
    return [...this.#members].map(({ pid, state, leases }) => ({ pid, state, leases }));
  }

  async start(): Promise<void> {
    try {
      await this.#starts.first();
    } catch (error) {
      if (startFailure(error) === null) throw error;
      this.#starts.failed(error);
    }
    if (this.#draining !== null) return;
    const { hangTimeoutMs } = this.#options;
    this.#timers = [
      setInterval(() => this.#serving().forEach((member) => void member.wear.idleTick()), IDLE_INTERVAL_MS),
      setInterval(
        () => this.#members.forEach((member) => member.health.check()),
        checkEveryMs(hangTimeoutMs),
      ),
    ].map((timer) => timer.unref());
    this.#starts.fill();
  }

  async lease(signal: AbortSignal): Promise<WorkerLease> {
    signal.throwIfAborted();
    if (this.#draining !== null) throw gatewayError('shutting_down');
    const member = leastLoaded(this.#serving());
    if (member !== null) return this.#leaseOn(member);
    if (this.#startFailure !== null) throw this.#later(this.#startFailure);
    return this.#waiting.wait(signal, this.#options.waitMs, () => this.#later(failure('worker_unavailable')));
  }

  renew(): void {
    for (const member of this.#serving()) this.#replace(member, 'renewal');
  }

  drain(timeoutMs: number): Promise<void> {
    this.#draining ??= this.#drain();
    const timer = setTimeout(() => this.#onIdle?.(), timeoutMs);
    return this.#draining.finally(() => clearTimeout(timer));
  }

  async #drain(): Promise<void> {
    this.#starts.halt();
    this.#waiting.dismiss(gatewayError('shutting_down'));
    if (this.#leases() > 0) await this.#idle();
    // Not earlier: turns on a hung worker must still be detected.
    for (const timer of this.#timers) clearInterval(timer);
    for (const member of this.#members) this.#stop(member);
    // A worker that becomes ready only now is stopped by `#launch`; if a first start fails only now, `start`
    // rejects.
    await Promise.allSettled([this.#starts.end(), ...this.#leaving]);
  }

  /** Until the last lease is released, or the wait is cut short. */
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #later(cause: Failure): GatewayError {
    return new GatewayError({ ...cause, retryAfterSeconds: this.#starts.secondsToRetry() });
  }

  #serving(): readonly Member[] {
    return [...this.#members].filter((member) => member.state === 'ready');
  }

  #leases(): number {
    return [...this.#members].reduce((sum, member) => sum + member.leases, 0);
  }

  async #launch(): Promise<void> {
    const worker = await this.#options.spawnWorker();
    if (this.#draining !== null) {
      await worker.stop();
      return;
    }
    if (worker.lost.aborted) throw new Error('the worker stopped as soon as it was ready');
    this.#adopt(worker);
  }

  #adopt(worker: Worker): void {
    const { onEvent, clock, hangTimeoutMs } = this.#options;
    const member = new Member({
      worker,
      limits: this.#options,
      hangTimeoutMs,
      clock,
      onRetiring: (retiring, wear, vitals) => this.#replace(retiring, wear, vitals),
      onUnhealthy: ({ pid }, healthProblem) => {
        onEvent({ kind: 'worker-ill', pid, healthProblem });
        void worker.kill();
      },
      onCheckFailed: ({ pid }, error) => onEvent({ kind: 'diagnostics-failed', pid, error }),
      onLost: (lost) => this.#onLost(lost),
    });
    this.#members.add(member);
    this.#startFailure = null;
    onEvent({ kind: 'worker-ready', pid: worker.pid });
    this.#waiting.admit(() => this.#leaseOn(member));
    this.#retireOne();
  }

  /** A retiring worker has been replaced. */
  #retireOne(): void {
    const serving = this.#serving();
    const retiring = serving.find((member) => member.isToBeReplaced);
    if (retiring === undefined || serving.length <= this.#options.size) return;
    retiring.state = 'retiring';
    if (retiring.leases === 0) this.#stop(retiring);
  }

  #onStartFailed(error: unknown, retryInMs: number): void {
    this.#startFailure = startFailure(error);
    // Reject waiting leases at once: the reason will not go away in a moment.
    if (this.#startFailure !== null) this.#waiting.dismiss(this.#later(this.#startFailure));
    this.#options.onEvent({ kind: 'start-failed', error, retryInMs });
  }

  #onLost(member: Member): void {
    const { state, pid, leases, readyForMs } = member;
    if (state === 'stopping') return;
    this.#stop(member);
    const wasLast = this.#serving().length === 0;
    const restartInMs = state === 'ready' ? this.#starts.lost({ readyForMs, wasLast }) : null;
    this.#options.onEvent({ kind: 'worker-lost', pid, leases, restartInMs });
  }

  #leaseOn(member: Member): WorkerLease {
    member.leases += 1;
    member.wear.leased();
    let out = true;
    return {
      appServer: member.worker.appServer,
      isCurrent: () => member.state === 'ready' && !member.isToBeReplaced && this.#draining === null,
      release: () => {
        if (!out) return;
        out = false;
        member.leases -= 1;
        this.#onRelease(member);
      },
    };
  }

  #onRelease(member: Member): void {
    if (this.#leases() === 0) this.#onIdle?.();
    if (member.state === 'retiring' && member.leases === 0) this.#stop(member);
    else if (member.state === 'ready' && !member.isToBeReplaced) member.wear.released();
  }

  #replace(member: Member, wear: RetireReason, vitals: Partial<Vitals> = {}): void {
    if (member.state !== 'ready' || member.isToBeReplaced || this.#draining !== null) return;
    member.isToBeReplaced = true;
    this.#options.onEvent({ kind: 'worker-worn', pid: member.pid, wear, ...vitals });
    this.#starts.fill();
  }

  #stop(member: Member): void {
    if (member.state === 'stopping') return;
    member.state = 'stopping';
    member.health.end();
    const leaving = member.worker.stop().finally(() => {
      this.#members.delete(member);
      this.#leaving.delete(leaving);
      this.#options.onEvent({ kind: 'worker-stopped', pid: member.pid });
    });
    this.#leaving.add(leaving);
  }
}

/**
 * Callers that wait for a worker. Every wait ends: admitted, rejected, aborted by its signal, or timed out.
 */
interface LeaseQueue<T> {
  wait(signal: AbortSignal, waitMs: number, onTimeout: () => Error): Promise<T>;
  /** Each caller gets its own value. */
  admit(make: () => T): void;
  dismiss(error: Error): void;
}

interface Waiter<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

const createLeaseQueue = <T>(): LeaseQueue<T> => {
  const waiters = new Set<Waiter<T>>();

  const empty = (): readonly Waiter<T>[] => {
    const all = [...waiters];
    waiters.clear();
    return all;
  };

  return {
    wait: (signal, waitMs, onTimeout) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const leave = (): void => {
          waiters.delete(waiter);
          clearTimeout(timer);
          signal.removeEventListener('abort', giveUp);
        };
        const waiter: Waiter<T> = {
          resolve: (value) => {
            leave();
            resolve(value);
          },
          reject: (error) => {
            leave();
            reject(error);
          },
        };
        const giveUp = (): void => waiter.reject(signal.reason);
        const timer = setTimeout(() => waiter.reject(onTimeout()), waitMs);
        signal.addEventListener('abort', giveUp);
        waiters.add(waiter);
      }),
    admit: (make) => {
      for (const waiter of empty()) waiter.resolve(make());
    },
    dismiss: (error) => {
      for (const waiter of empty()) waiter.reject(error);
    },
  };
};

/** The disk, or the user's quota. */
const FULL_DISK_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT']);
/** The app-server's message on exit: the system's error, or that of SQLite. */
const FULL_DISK_WORDS = /\(os error (?:28|122)\)|database or disk is full/;

const fullDisk = (): Failure =>
  failure('worker_unavailable', {
    message:
      'The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
  });

/** The failure for clients after a failed start; null if it would not help them. */
export const startFailure = (error: unknown): Failure | null => {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof GatewayError) return cause.failure;
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (FULL_DISK_CODES.has(code) || FULL_DISK_WORDS.test(cause.message)) return fullDisk();
    const short = resourceFailureFor(code) ?? (isResourceError(cause.message) ? resourceFailure() : null);
    if (short !== null) return short;
  }
  return null;
};
