import { GatewayError, type Failure } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import { hideSecrets } from '../kit/hide-secrets.ts';
import type { Engine } from './engine.ts';

/**
 * No failure of the engine quotes these. A backend may repeat the key that it refuses, bare, and its words
 * come by several ways; the last place that they all pass is here.
 */
export const keepSecrets = (engine: Engine, secrets: readonly string[]): Engine => {
  if (secrets.length === 0) return engine;
  const hide = hideSecrets(secrets);
  const hidden = (failed: Failure): Failure => ({
    ...failed,
    message: hide(failed.message),
    code: hide(failed.code),
    param: failed.param === null ? null : hide(failed.param),
  });
  return {
    unheard: (request) => engine.unheard(request),
    async *run(request, signal, onSettled) {
      try {
        for await (const event of engine.run(request, signal, onSettled)) yield withoutSecrets(event, hidden);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        throw new GatewayError(hidden(error.failure), { cause: error.cause });
      }
    },
  };
};

const withoutSecrets = (event: TurnEvent, hidden: (failed: Failure) => Failure): TurnEvent => {
  if (event.type !== 'turn-ended' || event.outcome.kind !== 'failed') return event;
  return { ...event, outcome: { ...event.outcome, failure: hidden(event.outcome.failure) } };
};
