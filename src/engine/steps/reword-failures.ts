import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { GatewayError, type Failure, type Restate } from '../../canonical/failure/failure.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Clock } from '../../kit/ambient.ts';
import { within } from '../../kit/async/wait.ts';
import { secretHider } from '../../kit/text/hide-secrets.ts';
import { accessTokenRejected } from '../../codex/failures/access-token.ts';
import { countInput, type CountContext } from '../count-tokens.ts';
import type { Plan } from '../engine.ts';
import { changeEvents, type Step } from './step.ts';

/** Removes secrets from failures. */
export const hideSecrets: Step<{ readonly secrets: readonly string[] }> = {
  name: 'hide-secrets',
  why: 'A backend may quote the key that it rejects. Failures come from every step below, so this one is around them all.',
  wrap(next, { secrets }) {
    if (secrets.length === 0) return next;
    const hide = secretHider(secrets);
    const hidden = (failed: Failure): Failure => ({
      ...failed,
      message: hide(failed.message),
      code: hide(failed.code),
      param: failed.param === null ? null : hide(failed.param),
    });
    const change = {
      event: (event: TurnEvent): TurnEvent =>
        event.type === 'turn-ended' && event.outcome.kind === 'failed'
          ? { ...event, outcome: { ...event.outcome, failure: hidden(event.outcome.failure) } }
          : event,
      thrown(error: unknown): never {
        if (!(error instanceof GatewayError)) throw error;
        throw new GatewayError(hidden(error.failure), { cause: error.cause });
      },
    };
    return (...turn) => changeEvents(next(...turn), () => change);
  },
};

/** Says that the access token has to be replaced, if the backend rejects it. */
export const nameAccessToken: Step<{ readonly usesAccessToken: boolean }> = {
  name: 'name-access-token',
  why: 'An access token cannot be renewed: once the backend rejects it, only its operator can help. Around every step that may report a rejection.',
  wrap(next, { usesAccessToken }) {
    if (!usesAccessToken) return next;
    return (...turn) => changeEvents(next(...turn), () => CHANGE);
  },
};

const named = (failed: Failure): Failure => {
  if (failed.kind !== 'upstream_unauthorized') return failed;
  const rejected = accessTokenRejected();
  return { ...rejected, headers: { ...failed.headers, ...rejected.headers } };
};

const CHANGE = {
  event: (event: TurnEvent): TurnEvent =>
    event.type === 'turn-ended' && event.outcome.kind === 'failed'
      ? { ...event, outcome: { ...event.outcome, failure: named(event.outcome.failure) } }
      : event,
  thrown(error: unknown): never {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(named(error.failure), { cause: error.cause });
  },
};

export interface RestateDeps {
  /** Null: failures stay as they are. */
  readonly restate: Restate | null;
  readonly tokenizer: CountContext['tokenizer'];
  readonly clock: Clock;
}

/** A count takes at most about half of this; more only if the tokenizer is stuck. */
const MAX_COUNT_MS = 10_000;

/** Puts the failures of a turn into the words of its API. */
export const restateFailures: Step<RestateDeps> = {
  name: 'restate-failures',
  why: 'Clients of some APIs act on the words of an error, such as the tokens of a prompt that is too long. Outermost, because every step may end a turn with one.',
  wrap(next, { restate, tokenizer, clock }) {
    if (restate === null) return next;
    return (request, context) => {
      const plan = next(request, context);
      const counter = { tokenizer, clock, caller: context.caller.keyId };
      return {
        ...plan,
        run(...how) {
          const [signal] = how;
          const count = () => counted(request, { ...counter, signal });
          return restated(plan.run(...how), (failed) => restate(failed, count));
        },
      };
    };
  },
};

async function* restated(
  events: ReturnType<Plan['run']>,
  restate: (failed: Failure) => Promise<Failure>,
): AsyncGenerator<TurnEvent> {
  try {
    for await (const event of events) {
      if (event.type === 'turn-ended' && event.outcome.kind === 'failed') {
        yield { ...event, outcome: { ...event.outcome, failure: await restate(event.outcome.failure) } };
      } else yield event;
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(await restate(error.failure), { cause: error });
  }
}

const counted = (request: TurnRequest, counting: CountContext): Promise<number | null> =>
  within(
    countInput(request, counting).catch(() => null),
    MAX_COUNT_MS,
  );
