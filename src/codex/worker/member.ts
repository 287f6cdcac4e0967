import type { Clock } from '../../kit/ambient.ts';
import { HealthWatch } from './health.ts';
import type { HealthProblem, Candidate, RetireReason, RetireLimits } from './lifecycle.ts';
import type { Vitals } from './vitals.ts';
import { RetirementWatch } from './retirement.ts';
import type { Worker } from './worker.ts';

export interface MemberOptions {
  readonly worker: Worker;
  readonly limits: RetireLimits;
  readonly hangTimeoutMs: number;
  readonly clock: Clock;
  readonly onRetiring: (member: Member, wear: RetireReason, vitals?: Vitals) => void;
  readonly onUnhealthy: (member: Member, healthProblem: HealthProblem) => void;
  readonly onCheckFailed: (member: Member, error: unknown) => void;
  readonly onLost: (member: Member) => void;
}

/** One worker in the pool: its turns and its health. */
export class Member implements Candidate {
  readonly worker: Worker;
  readonly wear: RetirementWatch;
  readonly health: HealthWatch;
  readonly #clock: Clock;
  readonly #readyAtMs: number;
  /** `retiring`: takes no more turns and stops after its last one. */
  state: 'ready' | 'retiring' | 'stopping' = 'ready';
  leases = 0;
  /** Worn out: it serves until another worker has started in its place, then it retires. */
  isToBeReplaced = false;

  constructor(options: MemberOptions) {
    const { worker, limits, hangTimeoutMs, clock } = options;
    this.worker = worker;
    this.#clock = clock;
    this.#readyAtMs = clock.now();
    this.wear = new RetirementWatch({
      vitals: () => worker.vitals(),
      limits,
      clock,
      leases: () => this.leases,
      onRetiring: (wear, vitals) => options.onRetiring(this, wear, vitals),
      onFailure: (error) => {
        if (!worker.lost.aborted) options.onCheckFailed(this, error);
      },
    });
    this.health = new HealthWatch({
      pulse: worker.pulse,
      hangTimeoutMs,
      onUnhealthy: (healthProblem) => options.onUnhealthy(this, healthProblem),
      onStuck: () => options.onRetiring(this, 'stuck'),
    });
    worker.lost.addEventListener('abort', () => options.onLost(this), { once: true });
  }

  get pid(): number {
    return this.worker.pid;
  }

  get isSilent(): boolean {
    return this.health.isSilent;
  }

  get readyForMs(): number {
    return this.#clock.now() - this.#readyAtMs;
  }
}
