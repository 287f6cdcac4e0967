import { gatewayError } from '../canonical/failure/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { Limiter, type GateState, type LimiterRefusal } from '../kit/async/limiter.ts';
import type { OneOrMore } from '../kit/collections/lists.ts';

/** Decides which turns run now, which wait, and which are rejected. */
export interface Admission {
  /**
   * Slots for all turns of a request, or for none of them. Nothing is sent to the client before, so a rejection after
   * the wait is still an HTTP status. Rejects with that error, or with the signal's reason.
   */
  enter(ask: AdmissionAsk): Promise<OneOrMore<AdmissionPlace>>;
}

export interface AdmissionAsk {
  /** Slots are shared fairly between callers. */
  readonly caller: string;
  readonly turns: number;
  /** The field of the body that asks for this many turns. */
  readonly param: string;
  readonly signal: AbortSignal;
  /** No client waits for the turns: others come first, and they may wait longer. */
  readonly isBackground: boolean;
}

/** The slot of a running turn. */
export interface AdmissionPlace {
  /** Idempotent. */
  leave(): void;
}

export interface AdmissionOptions {
  readonly maxRunning: number;
  /** Whether the last slot is for this key, too. */
  readonly isAdmin: (caller: string) => boolean;
  readonly maxQueued: number;
  readonly queueTimeoutMs: number;
  readonly backgroundTimeoutMs: number;
  readonly clock: Clock;
  readonly onChange: (state: GateState) => void;
  readonly onWaited: (ms: number) => void;
  readonly onRefused: (why: LimiterRefusal) => void;
}

/** The part of the slots that background turns may use, so that a client does not have to wait until one of them ends. */
const BACKGROUND_PART = 3 / 4;

export const createAdmission = (options: AdmissionOptions): Admission => {
  const limiter = new Limiter({
    capacity: options.maxRunning,
    isAdmin: options.isAdmin,
    maxWaiting: options.maxQueued,
    waitMs: options.queueTimeoutMs,
    low: {
      capacity: Math.max(1, Math.floor(options.maxRunning * BACKGROUND_PART)),
      waitMs: options.backgroundTimeoutMs,
    },
    clock: options.clock,
    onChange: options.onChange,
    onWaited: options.onWaited,
    refuse(why, retryAfterSeconds) {
      options.onRefused(why);
      return gatewayError(why === 'share' ? 'concurrency_limit' : 'server_overloaded', { retryAfterSeconds });
    },
  });
  return {
    async enter({ caller, turns, param, signal, isBackground }) {
      if (turns > options.maxRunning) {
        throw gatewayError('invalid_value', {
          param,
          message: `Invalid value: '${param}' asks for ${turns} turns, but this server runs at most ${options.maxRunning} at once.`,
        });
      }
      const permit = await limiter.enter(caller, turns, signal, { rank: isBackground ? 'low' : 'normal' });
      const place = (): AdmissionPlace => {
        let isLeft = false;
        return {
          leave() {
            if (!isLeft) permit.leave(1);
            isLeft = true;
          },
        };
      };
      return [place(), ...Array.from({ length: turns - 1 }, place)];
    },
  };
};
