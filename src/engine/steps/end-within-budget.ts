import { failureOf, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { Outcome } from '../../canonical/events/outcome.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Plan } from '../engine.ts';

const INCOMPLETE: Outcome = { kind: 'incomplete', reason: 'max_model_requests' };

/**
 * A turn that ends because its budget of model requests is spent keeps what it has produced: it is incomplete. Where
 * it has produced nothing, it fails, and the error names the limit.
 */
export const endWithinBudget =
  (clock: Clock) =>
  (plan: Plan): Plan => ({
    ...plan,
    async *run(...how) {
      let hasProduced = false;
      const watched = async function* (): AsyncGenerator<TurnEvent> {
        for await (const event of plan.run(...how)) {
          // Lists of tools are not an answer.
          hasProduced ||= event.type === 'item-started' && event.item.kind !== 'opaque';
          const isOver = event.type === 'turn-ended' && event.outcome.kind === 'failed';
          yield isOver && hasProduced && isExceeded(event.outcome.failure)
            ? { ...event, outcome: INCOMPLETE }
            : event;
        }
      };
      yield* wellFormed(watched(), {
        clock,
        onThrow(error) {
          if (!hasProduced || !(error instanceof GatewayError) || !isExceeded(failureOf(error))) throw error;
          return INCOMPLETE;
        },
      });
    },
  });

const isExceeded = ({ kind }: Failure): boolean => kind === 'model_request_limit_exceeded';
