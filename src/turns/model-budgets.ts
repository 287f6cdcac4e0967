import { ModelBudget } from '../canonical/context/model-budget.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RunCall } from './start-run.ts';

interface BudgetDeps {
  readonly metrics: Pick<Metrics, 'modelRequestLimits'>;
  readonly logger: Pick<Logger, 'warn'>;
}

/** Opens the budget of an answer. An answer that the limit ends is counted and logged. */
export const modelBudgets =
  (limit: number, { metrics, logger }: BudgetDeps) =>
  ({ requestId }: Pick<RunCall, 'requestId'>): ModelBudget =>
    new ModelBudget(limit, () => {
      metrics.modelRequestLimits.inc();
      logger.warn({ requestId, limit }, 'model request limit reached');
    });
