import { GatewayError } from '../canonical/failure/failure.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { shortModelOf, type ShortAnswer } from '../engine/steps/answer-shortly.ts';
import type { Engine } from '../engine/engine.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ParsedRequest } from './api.ts';
import type { NotedRequest } from './run-deps.ts';

/** How a request for a mere title is answered; null: the request is for something else. */
export type SideTurns = (
  parsed: ParsedRequest,
  request: TurnRequest,
  call: NotedRequest,
) => Promise<ShortAnswer> | null;

export interface SideRules {
  readonly titleIntercept: boolean;
  /** The model that answers; null: the smallest one of the list. */
  readonly titleModel: string | null;
  /** How long a stream waits for the first event of its turn. */
  readonly keepaliveMs: number;
}

export interface SideDeps {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly metrics: Metrics;
  readonly logger: Pick<Logger, 'info'>;
}

/** A user is waiting for the title, and the ordinary turn may still have to run. */
const LIMIT_MS = 20_000;
/** Of the time after which a stream is begun: the headers must still be open to name the model that answers. */
const STREAM_SHARE = 0.8;
const NO_SHORT_ANSWER = 'no usable short answer: running the requested turn';

export const createSideTurns =
  (
    { titleIntercept, titleModel, keepaliveMs }: SideRules,
    { engine, models, metrics, logger }: SideDeps,
  ): SideTurns =>
  (parsed, request, call) => {
    const side = parsed.sideRequest ?? null;
    if (!titleIntercept || side === null) return null;
    const { kind, clean } = side;
    call.note({ intercept: kind });
    return models.names().then((names) => ({
      ...shortModelOf(names, titleModel, request.model),
      plan: engine.plan,
      clean,
      limitMs: parsed.stream ? Math.min(LIMIT_MS, keepaliveMs * STREAM_SHARE) : LIMIT_MS,
      onResult(result, why) {
        metrics.sideRequests.inc({ kind, result });
        if (result === 'answered' || result === 'abandoned') return;
        // Of an upstream error only the code: its message may quote the conversation.
        const cause = why instanceof GatewayError ? { errorCode: why.failure.code } : { err: why };
        logger.info({ requestId: call.requestId, intercept: kind, result, ...cause }, NO_SHORT_ANSWER);
      },
    }));
  };
