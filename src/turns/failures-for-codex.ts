import { failureOf, GatewayError, type Failure } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Clock } from '../kit/ambient.ts';
import type { OneOrMore } from '../kit/collections/lists.ts';
import type { Committed } from './commit-point.ts';
import type { ParsedRequest } from './api.ts';

/**
 * Rewrites two failures to the form that the codex client recognises, which differs from the public API: it then tells
 * its user what to do, or compacts the conversation.
 */
export const inWordsOfCodex =
  ({ client, stream }: Pick<ParsedRequest, 'client' | 'stream'>, clock: Clock) =>
  (error: unknown): OneOrMore<Committed> => {
    const failed = failureOf(error);
    if (client.name === 'codex' && failed.kind === 'insufficient_quota') {
      throw new GatewayError(asUsageLimit(failed, clock.now()), { cause: error });
    }
    if (client.name === 'codex' && stream && failed.kind === 'context_length_exceeded') {
      return [onlyFailed(failed, clock.now())];
    }
    throw error;
  };

/** In the form of the ChatGPT backend. */
const asUsageLimit = (failed: Failure, nowMs: number): Failure => ({
  ...failed,
  type: 'usage_limit_reached',
  ...(failed.retryAfterSeconds === null
    ? {}
    : { more: { resets_at: Math.floor(nowMs / 1000) + failed.retryAfterSeconds } }),
});

/** Codex does not recognise this failure in an HTTP status. */
const onlyFailed = (failed: Failure, at: number): Committed => ({
  events: (async function* (): AsyncGenerator<TurnEvent> {
    yield { type: 'turn-ended', outcome: { kind: 'failed', failure: failed }, usage: null, at };
  })(),
  accepted: null,
  giveUp: async () => {},
});
