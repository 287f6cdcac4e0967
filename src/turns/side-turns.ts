import { GatewayError } from '../canonical/failure/failure.ts';
import type { Path } from '../canonical/request/path.ts';
import type { Turn } from '../canonical/context/turn-context.ts';
import { answerShortly } from '../engine/steps/answer-shortly.ts';
import type { Engine, Plan } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import { shortModelOf } from '../engine/plan/short-model.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ParsedRequest } from './api.ts';
import type { RunCall } from './start-run.ts';

/** The turn of a request that only wants a name for a conversation; null: it wants something else. */
export type SideTurns = (parsed: ParsedRequest, turn: Turn, ordinary: OrdinaryTurn) => Promise<Plan> | null;

/** What is run if no short answer comes. */
interface OrdinaryTurn {
  /** What of it will have no effect, as far as that is known. */
  readonly ignored: readonly Path[];
  /** Fetches images, for example: that is not needed for a short answer. */
  readonly prepare: () => Promise<Plan>;
  readonly call: Pick<RunCall, 'requestId' | 'note'>;
}

export interface SideRules {
  readonly titleIntercept: boolean;
  /** Who answers them; null: the smallest model of the list. */
  readonly titleModel: string | null;
  /** How long a stream waits for the first event of its turn. */
  readonly keepaliveMs: number;
}

export interface SideDeps {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly metrics: Pick<Metrics, 'sideRequests'>;
  readonly logger: Pick<Logger, 'info'>;
}

/** Somebody looks at a conversation without a name, and the turn that was asked for may still have to be run. */
const LIMIT_MS = 20_000;
/** Of the time after which a stream is begun: the headers must still be open to name the model that answers. */
const STREAM_SHARE = 0.8;
const NO_SHORT_ANSWER = 'no usable short answer: running the requested turn';

export const createSideTurns =
  (
    { titleIntercept, titleModel, keepaliveMs }: SideRules,
    { engine, models, metrics, logger }: SideDeps,
  ): SideTurns =>
  (parsed, { request, context }, { ignored, prepare, call }) => {
    const side = parsed.sideRequest ?? null;
    if (!titleIntercept || side === null) return null;
    const { kind, clean } = side;
    call.note({ intercept: kind });
    const ordinary: Plan = {
      ignored,
      refused: [],
      async *run(signal, onSettled) {
        yield* (await prepare()).run(signal, onSettled);
      },
    };
    return models.names().then((names) =>
      answerShortly(ordinary, request, {
        ...shortModelOf(names, titleModel, request.model),
        plan: (other) => engine.plan(other, context),
        clean,
        limitMs: parsed.stream ? Math.min(LIMIT_MS, keepaliveMs * STREAM_SHARE) : LIMIT_MS,
        onResult(result, why) {
          metrics.sideRequests.inc({ kind, result });
          if (result === 'answered' || result === 'abandoned') return;
          // Of what an upstream said only the code: its words may hold some of the conversation.
          const cause = why instanceof GatewayError ? { errorCode: why.failure.code } : { err: why };
          logger.info({ requestId: call.requestId, intercept: kind, result, ...cause }, NO_SHORT_ANSWER);
        },
      }),
    );
  };
