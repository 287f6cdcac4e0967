import { ModelBudget } from '../canonical/context/model-budget.ts';
import type { Trace } from '../canonical/context/trace.ts';
import type { Clock } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RunCall } from './run-deps.ts';

interface BudgetDeps {
  readonly metrics: Pick<Metrics, 'modelRequestLimits'>;
  readonly logger: Pick<Logger, 'warn'>;
  readonly clock: Clock;
}

/** Opens the budget of an answer. Its retries are recorded; an answer that the limit ends is counted and logged. */
export const modelBudgets =
  (limit: number, { metrics, logger, clock }: BudgetDeps) =>
  ({ requestId, note }: Pick<RunCall, 'requestId' | 'note'>, trace: Trace): ModelBudget =>
    new ModelBudget(limit, {
      clock,
      onExceeded() {
        metrics.modelRequestLimits.inc();
        logger.warn({ requestId, limit }, 'model request limit reached');
      },
      onRetry(retry) {
        trace.record('retry', retry);
        note({ retries: retry.count });
      },
    });
