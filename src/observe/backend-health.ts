import type { Clock } from '../kit/ambient.ts';
import type { TurnObserver, TurnSummary } from './observer.ts';

/** Coarse on purpose: readiness is public and must not reveal anything about the account. */
export type BackendTrouble = 'unreachable' | 'blocked' | 'unauthorized' | 'limited' | 'failing';

export type BackendHealth =
  /** Nothing was asked of the backend yet. */
  | { readonly state: 'unknown' }
  | { readonly state: 'ok'; readonly since: number }
  | { readonly state: 'failing'; readonly reason: BackendTrouble; readonly since: number };

/** Failures that say something about the backend. Others are the request's own, or ours. */
const TROUBLES: Readonly<Record<string, BackendTrouble>> = {
  upstream_unreachable: 'unreachable',
  upstream_blocked: 'blocked',
  sign_in_required: 'unauthorized',
  upstream_unauthorized: 'unauthorized',
  account_unavailable: 'unauthorized',
  insufficient_quota: 'limited',
  upstream_overloaded: 'failing',
  upstream_error: 'failing',
  upstream_timeout: 'failing',
};

/** Failures of our own half: they say nothing about the backend, neither good nor bad. */
const OURS: ReadonlySet<string> = new Set([
  'server_error',
  'worker_lost',
  'worker_unavailable',
  'out_of_resources',
  'shutting_down',
  'client_too_slow',
  'turn_timeout',
]);

/** What the last turns say about the backend. Nothing is asked for it: it is what clients met. */
export class BackendWatch implements TurnObserver {
  readonly #clock: Clock;
  #health: BackendHealth = { state: 'unknown' };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  health(): BackendHealth {
    return this.#health;
  }

  /** The kind of failure that a request ended with; null where it was answered. */
  saw(kind: string | null): void {
    if (kind !== null && OURS.has(kind)) return;
    const reason = kind === null ? undefined : TROUBLES[kind];
    const since = this.#clock.now();
    // A backend that refuses a request for what is in it has been reached.
    if (reason === undefined) {
      if (this.#health.state !== 'ok') this.#health = { state: 'ok', since };
    } else if (this.#health.state !== 'failing' || this.#health.reason !== reason) {
      this.#health = { state: 'failing', reason, since };
    }
  }

  onEnd({ ending }: TurnSummary): void {
    switch (ending.kind) {
      case 'ended':
        this.saw(ending.outcome.kind === 'failed' ? ending.outcome.failure.kind : null);
        break;
      case 'thrown':
        this.saw(ending.failure.kind);
        break;
      case 'abandoned':
        break;
    }
  }
}
