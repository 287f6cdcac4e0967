import { failure, failureOf, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { EventHandler } from '../../canonical/events/handle-events.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import { firstAborted } from '../../kit/async/wait.ts';
import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Plan } from '../engine.ts';
import { changeEvents, type Step } from './step.ts';

const INCOMPLETE: Outcome = { kind: 'incomplete', reason: 'max_model_requests' };

/**
 * Keeps what a turn has produced when its budget of model requests is spent: it is incomplete. A turn that has produced
 * nothing fails, and the error names the limit. The budget ends a turn between two answers, when no item is open.
 */
export const endWithinBudget: Step<{ readonly clock: Clock }> = {
  name: 'end-within-budget',
  why: 'The budget ends a turn wherever the model is asked again. Around all of those places, so that each may simply fail.',
  wrap:
    (next, { clock }) =>
    (...turn) =>
      changeEvents(next(...turn), (): EventHandler => {
        let hasProduced = false;
        return {
          event(event) {
            // Lists of tools are not an answer.
            if (event.type === 'item-delta') return event;
            hasProduced ||= event.type === 'item-started' && event.item.kind !== 'opaque';
            if (!hasProduced || event.type !== 'turn-ended' || event.outcome.kind !== 'failed') return event;
            return isExceeded(event.outcome.failure) ? { ...event, outcome: INCOMPLETE } : event;
          },
          thrown(error) {
            if (!hasProduced || !(error instanceof GatewayError) || !isExceeded(failureOf(error)))
              throw error;
            return [{ type: 'turn-ended', outcome: INCOMPLETE, usage: null, at: clock.now() }];
          },
        };
      }),
};

const isExceeded = ({ kind }: Failure): boolean => kind === 'model_request_limit_exceeded';

/** Ends turns that take too long. `turnTimeoutMs`: from the start of a turn to its last event; 0: no limit. */
export const limitTime: Step<{ readonly turnTimeoutMs: number; readonly clock: Clock }> = {
  name: 'limit-time',
  why: '`PROXY_TURN_TIMEOUT_MS`. Around everything that asks the model again, because the limit is for all of that together.',
  wrap: (next, { turnTimeoutMs, clock }) =>
    turnTimeoutMs === 0
      ? next
      : (...turn) => {
          const plan = next(...turn);
          return { ...plan, run: (...how) => inTime(plan, { turnTimeoutMs, clock }, how) };
        },
};

async function* inTime(
  plan: Plan,
  { turnTimeoutMs, clock }: { readonly turnTimeoutMs: number; readonly clock: Clock },
  [signal, onSettled]: Parameters<Plan['run']>,
): AsyncGenerator<TurnEvent> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), turnTimeoutMs);
  try {
    const either = firstAborted(signal, late.signal);
    yield* wellFormed(plan.run(either, onSettled), {
      clock,
      onThrow(error) {
        if (signal.aborted || !late.signal.aborted) throw error;
        return { kind: 'failed', failure: failure('turn_timeout') };
      },
    });
  } finally {
    clearTimeout(timer);
  }
}
