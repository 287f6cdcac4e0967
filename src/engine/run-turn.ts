import type { Failure } from '../canonical/failure.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { Approach } from '../codex/translate/approach.ts';
import { fitEffort } from '../codex/translate/fit-effort.ts';
import {
  fitHistory,
  withoutReasoning,
  type FittedHistory,
  type HistoryRules,
} from '../codex/translate/fit-history.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import type { Approaches } from './approaches.ts';
import type { Engine } from './engine.ts';
import {
  RefusedEarly,
  TurnAttempt,
  withoutRelay,
  WorkerLostEarly,
  type AttemptDeps,
} from './turn-attempt.ts';

export interface EngineDeps extends AttemptDeps {
  readonly workers: WorkerPool;
  readonly approaches: Approaches;
  /** What the backend takes of a history. */
  readonly historyRules: HistoryRules;
  /** The efforts of a model, where its backend refuses others; null: not known. */
  readonly effortsOf: (model: string) => readonly string[] | null;
  /** A turn failed before it said anything, and in no other way either. */
  readonly onRefused: (failed: Failure) => void;
}

/** A turn whose worker died before anything was said is run again, this often in all. */
const ATTEMPTS = 3;
export const createEngine = (deps: EngineDeps): Engine => ({
  unheard(request) {
    const approach = deps.approaches.first(request);
    const { ignored, ...fitted } = fittedFor(request, approach, deps);
    return [
      ...(deps.relay?.unheard({ ...request, ...fitted }) ?? withoutRelay(request)),
      ...deps.approaches.losses(request, approach),
      ...ignored,
    ];
  },
  async *run(request, signal, onSettled) {
    const tried = [deps.approaches.first(request)];
    for (let losses = 0; ;) {
      const approach = tried.at(-1) ?? deps.approaches.first(request);
      const { ignored, ...fitted } = fittedFor(request, approach, deps);
      const lease = await deps.workers.lease(signal);
      const turn = new TurnAttempt(deps, lease, {
        request: { ...request, ...fitted },
        approach,
        ignored: [...ignored, ...deps.approaches.losses(request, approach)],
        signal,
        mayRetry: losses + 1 < ATTEMPTS,
      });
      try {
        for await (const event of turn.events()) {
          if (event.type === 'turn-accepted') {
            deps.approaches.worked(request, tried);
            if (onSettled !== undefined) turn.whenLetGo(onSettled);
          }
          yield event;
        }
        return;
      } catch (error) {
        if (error instanceof WorkerLostEarly) losses += 1;
        else if (!(error instanceof RefusedEarly)) throw error;
        else {
          const next = deps.approaches.next(request, tried, error.refusal.outcome.failure);
          if (next === null) {
            const failed = deps.approaches.told(error.refusal.outcome.failure);
            deps.onRefused(failed);
            yield { ...error.refusal, outcome: { kind: 'failed', failure: failed } };
            return;
          }
          tried.push(next);
        }
      } finally {
        turn.letGo();
      }
    }
  },
});

/** What of a request its backend takes this time, and the caller's names of what it does not. */
const fittedFor = (
  request: TurnRequest,
  approach: Approach,
  { historyRules, effortsOf }: EngineDeps,
): FittedHistory & Pick<TurnRequest, 'reasoning'> => {
  const rest = approach.reasoning === 'kept' ? null : withoutReasoning(request);
  const fitted = fitHistory(rest ?? request, historyRules);
  const { reasoning } = request;
  const effort = fitEffort(reasoning.effort, effortsOf(request.model));
  const ignored = [
    ...(rest?.ignored ?? []),
    ...fitted.ignored,
    ...(effort === reasoning.effort ? [] : [reasoning.effortName]),
  ];
  return { ...fitted, reasoning: { ...reasoning, effort }, ignored };
};
