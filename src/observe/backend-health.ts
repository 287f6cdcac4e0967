import type { Clock } from '../kit/ambient.ts';
import type { TurnObserver, TurnSummary } from './observer.ts';

/** Coarse on purpose: readiness is public and must not reveal anything about the account. */
export type BackendTrouble = 'unreachable' | 'blocked' | 'unauthorized' | 'limited' | 'failing';

export type BackendHealth =
  /** No request has reached the backend yet. */
  | { readonly state: 'unknown' }
  | { readonly state: 'ok'; readonly since: number }
  | { readonly state: 'failing'; readonly reason: BackendTrouble; readonly since: number };

/** Failures due to the backend. Others are due to the request or the proxy. */
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

/** Failures of the proxy, which do not change the backend's state. */
const OURS: ReadonlySet<string> = new Set([
  'server_error',
  'worker_lost',
  'worker_unavailable',
  'out_of_resources',
  'codex_incompatible',
  'shutting_down',
  'client_too_slow',
  'turn_timeout',
]);

/** Derives the backend's health from recent turns, without requests of its own. */
export class BackendWatch implements TurnObserver {
  readonly #clock: Clock;
  #health: BackendHealth = { state: 'unknown' };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  health(): BackendHealth {
    return this.#health;
  }

  /** Records the failure kind of a request; null if it succeeded. */
  saw(kind: string | null): void {
    if (kind !== null && OURS.has(kind)) return;
    const reason = kind === null ? undefined : TROUBLES[kind];
    const since = this.#clock.now();
    // A backend that rejects the content of a request is reachable.
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
