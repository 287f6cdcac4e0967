import { fail, GatewayError, type Failure } from '../../canonical/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { AppServer } from '../app-server.ts';
import {
  afterFailure,
  afterHealth,
  type Backoff,
  NO_FAILURES,
  type Wear,
  type WearLimits,
} from './lifecycle.ts';
import type { Vitals } from './vitals.ts';
import { createWaitingRoom } from './waiting-room.ts';
import { IDLE_INTERVAL_MS, WearWatch } from './wear-watch.ts';
import type { Worker } from './worker.ts';

export interface WorkerPool {
  /**
   * A worker to run one turn on. Waits for one to become ready, at most `waitMs`; then, and while the
   * pool drains, it throws a GatewayError. When the signal is aborted it throws the signal's reason.
   */
  lease(signal: AbortSignal): Promise<Lease>;
  readonly ready: boolean;
  /**
   * Resolves when the first worker is ready. Rejects if it cannot be started: nothing is retried then.
   * A failure that clients can be told about is not such a case: it is tried again, and they are told.
   */
  start(): Promise<void>;
  /** The next leases are on a new worker, as soon as there is one; nothing waits for it. */
  renew(): void;
  /**
   * No more leases; waits up to `timeoutMs` for those that are out, then ends all processes. Called again,
   * the shorter wait counts: a pool that was left to finish may have to go at once.
   */
  drain(timeoutMs: number): Promise<void>;
  describe(): readonly WorkerDescription[];
}

export interface Lease {
  readonly appServer: AppServer;
  readonly lost: AbortSignal;
  /** Whether the next lease will be on this worker too. */
  isCurrent(): boolean;
  /** May be called again, which does nothing. */
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
  | {
      readonly kind: 'worker-lost';
      readonly pid: number;
      readonly leases: number;
      /** Null: another worker serves, or is on its way already. */
      readonly restartInMs: number | null;
    }
  | ({ readonly kind: 'worker-worn'; readonly pid: number; readonly wear: Wear } & Partial<Vitals>)
  | { readonly kind: 'worker-stopped'; readonly pid: number }
  | { readonly kind: 'start-failed'; readonly error: unknown; readonly retryInMs: number }
  | { readonly kind: 'diagnostics-failed'; readonly pid: number; readonly error: unknown };

export interface WorkerPoolOptions extends WearLimits {
  readonly spawnWorker: () => Promise<Worker>;
  /** How long a lease may wait for a worker. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly onEvent: (event: WorkerPoolEvent) => void;
}

interface Member {
  readonly worker: Worker;
  readonly readyAtMs: number;
  readonly watch: WearWatch;
  state: WorkerDescription['state'];
  leases: number;
  worn: boolean;
}

/**
 * Keeps one current worker. A second one exists only for a while: when the current one is worn its
 * successor is started, takes over once it is ready, and the old one finishes its leases and goes.
 */
export const createWorkerPool = (options: WorkerPoolOptions): WorkerPool => new SupervisedPool(options);

/** A class because its parts share much changing state; everyone else sees the interface above. */
class SupervisedPool implements WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #waiting = createWaitingRoom<Lease>();
  /** The current worker and those that retire or stop. */
  readonly #members = new Set<Member>();
  readonly #leaving = new Set<Promise<void>>();
  #current: Member | null = null;
  /** Never rejects, except for the very first start. At most one start is under way. */
  #starting: Promise<void> | null = null;
  #retry: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;
  #backoff: Backoff = NO_FAILURES;
  #idleTimer: NodeJS.Timeout | null = null;
  /** Why there is no worker, where that is something that a client can be told. */
  #trouble: Failure | null = null;
  #draining: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  get ready(): boolean {
    return this.#current !== null && this.#draining === null;
  }

  describe(): readonly WorkerDescription[] {
    return [...this.#members].map(({ worker, state, leases }) => ({ pid: worker.pid, state, leases }));
  }

  async start(): Promise<void> {
    this.#starting = this.#launch().finally(() => this.#onStartSettled());
    try {
      await this.#starting;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      this.#onStartFailed(error);
    }
    if (this.#draining !== null) return;
    this.#idleTimer = setInterval(() => void this.#current?.watch.idleTick(), IDLE_INTERVAL_MS).unref();
  }

  async lease(signal: AbortSignal): Promise<Lease> {
    signal.throwIfAborted();
    if (this.#draining !== null) throw fail('shutting_down');
    if (this.#current !== null) return this.#leaseOn(this.#current);
    if (this.#trouble !== null) {
      throw new GatewayError({ ...this.#trouble, retryAfterSeconds: this.#secondsToRetry() });
    }
    return this.#waiting.wait(signal, this.#options.waitMs, () =>
      fail('worker_unavailable', { retryAfterSeconds: this.#secondsToRetry() }),
    );
  }

  renew(): void {
    if (this.#current !== null) this.#replace(this.#current, 'renewal');
  }

  drain(timeoutMs: number): Promise<void> {
    this.#draining ??= this.#drain();
    const timer = setTimeout(() => this.#onIdle?.(), timeoutMs);
    return this.#draining.finally(() => clearTimeout(timer));
  }

  async #drain(): Promise<void> {
    if (this.#retry !== null) clearTimeout(this.#retry.timer);
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer);
    this.#waiting.dismiss(fail('shutting_down'));
    if (this.#leases() > 0) await this.#idle();
    for (const member of this.#members) this.#stop(member);
    // A worker that becomes ready only now is stopped by `#launch`; a first start that fails only now
    // tells whoever called `start`.
    await Promise.allSettled([this.#starting, ...this.#leaving]);
  }

  /** Until the last lease is back, or somebody waits no longer. */
  #idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #leases(): number {
    return [...this.#members].reduce((sum, member) => sum + member.leases, 0);
  }

  #secondsToRetry(): number {
    const atMs = this.#retry?.atMs ?? 0;
    return Math.max(1, Math.ceil((atMs - this.#options.clock.now()) / 1000));
  }

  async #launch(): Promise<void> {
    const worker = await this.#options.spawnWorker();
    if (this.#draining !== null) {
      await worker.stop();
      return;
    }
    if (worker.lost.aborted) throw new Error('the worker was lost as soon as it was ready');
    this.#adopt(worker);
  }

  #adopt(worker: Worker): void {
    const previous = this.#current;
    const member: Member = {
      worker,
      readyAtMs: this.#options.clock.now(),
      watch: new WearWatch({
        vitals: () => worker.vitals(),
        limits: this.#options,
        clock: this.#options.clock,
        leases: () => member.leases,
        onWorn: (wear, vitals) => this.#replace(member, wear, vitals),
        onFailure: (error) => {
          if (worker.lost.aborted) return;
          this.#options.onEvent({ kind: 'diagnostics-failed', pid: worker.pid, error });
        },
      }),
      state: 'ready',
      leases: 0,
      worn: false,
    };
    this.#members.add(member);
    this.#current = member;
    this.#trouble = null;
    worker.lost.addEventListener('abort', () => this.#onLost(member), { once: true });
    this.#options.onEvent({ kind: 'worker-ready', pid: worker.pid });
    this.#waiting.admit(() => this.#leaseOn(member));
    if (previous === null) return;
    previous.state = 'retiring';
    if (previous.leases === 0) this.#stop(previous);
  }

  /** Starts a worker in the background, unless one is on its way already. */
  #launchSoon(): void {
    if (this.#starting !== null || this.#retry !== null || this.#draining !== null) return;
    this.#starting = this.#launch()
      .catch((error: unknown) => this.#onStartFailed(error))
      .finally(() => this.#onStartSettled());
  }

  #onStartFailed(error: unknown): void {
    this.#trouble = error instanceof GatewayError ? error.failure : null;
    // Who waits for it need not wait any longer: the reason will not be gone in a moment.
    if (this.#trouble !== null) this.#waiting.dismiss(new GatewayError(this.#trouble));
    const retryInMs = this.#scheduleRetry();
    this.#options.onEvent({ kind: 'start-failed', error, retryInMs });
  }

  #onStartSettled(): void {
    this.#starting = null;
  }

  #scheduleRetry(): number {
    const now = this.#options.clock.now();
    const { delayMs, backoff } = afterFailure(this.#backoff, now);
    this.#backoff = backoff;
    if (this.#draining !== null) return delayMs;
    const timer = setTimeout(() => {
      this.#retry = null;
      if (this.#current === null || this.#current.worn) this.#launchSoon();
    }, delayMs);
    this.#retry = { timer, atMs: now + delayMs };
    return delayMs;
  }

  #onLost(member: Member): void {
    if (member.state === 'stopping') return;
    const isCurrent = this.#current === member;
    this.#stop(member);
    this.#backoff = afterHealth(this.#backoff, this.#options.clock.now() - member.readyAtMs);
    // A successor that is on its way, or waits for its next try, is the restart.
    const onItsWay = this.#starting !== null || this.#retry !== null || this.#draining !== null;
    const restartInMs = isCurrent && !onItsWay ? this.#scheduleRetry() : null;
    const { worker, leases } = member;
    this.#options.onEvent({ kind: 'worker-lost', pid: worker.pid, leases, restartInMs });
  }

  #leaseOn(member: Member): Lease {
    member.leases += 1;
    member.watch.leased();
    let out = true;
    return {
      appServer: member.worker.appServer,
      lost: member.worker.lost,
      isCurrent: () => member === this.#current && !member.worn && this.#draining === null,
      release: () => {
        if (!out) return;
        out = false;
        member.leases -= 1;
        this.#onRelease(member);
      },
    };
  }

  #onRelease(member: Member): void {
    this.#whenIdle();
    if (member.state === 'retiring' && member.leases === 0) this.#stop(member);
    else if (member === this.#current && !member.worn) member.watch.released();
  }

  #whenIdle(): void {
    if (this.#leases() === 0) this.#onIdle?.();
  }

  #replace(member: Member, wear: Wear, vitals: Partial<Vitals> = {}): void {
    if (member !== this.#current || member.worn || this.#draining !== null) return;
    member.worn = true;
    this.#options.onEvent({ kind: 'worker-worn', pid: member.worker.pid, wear, ...vitals });
    this.#launchSoon();
  }

  #stop(member: Member): void {
    if (member.state === 'stopping') return;
    member.state = 'stopping';
    if (this.#current === member) this.#current = null;
    const leaving = member.worker.stop().finally(() => {
      this.#members.delete(member);
      this.#leaving.delete(leaving);
      this.#options.onEvent({ kind: 'worker-stopped', pid: member.worker.pid });
    });
    this.#leaving.add(leaving);
  }
}
