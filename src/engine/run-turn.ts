import type { Failure } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { Approach } from '../codex/translate/approach.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import type { Approaches } from './approaches.ts';
import type { AttemptDeps } from './attempt-deps.ts';
import { draftTurn, type Draft, type DraftDeps } from './draft-turn.ts';
import type { Engine } from './engine.ts';
import { RefusedEarly, WorkerLostEarly } from './early-ends.ts';
import type { ApprovedResults } from './mcp-turn.ts';
import { TurnAttempt } from './turn-attempt.ts';

export interface EngineDeps extends AttemptDeps, DraftDeps {
  readonly relay: AttemptDeps['relay'];
  readonly settings: AttemptDeps['settings'];
  readonly mcp: AttemptDeps['mcp'];
  readonly workers: WorkerPool;
  readonly approaches: Approaches;
  /** A turn failed before it said anything, and in no other way either. */
  readonly onRefused: (failed: Failure) => void;
}

/** A turn whose worker died before anything was said is run again, this often in all. */
const ATTEMPTS = 3;

export const createEngine = (deps: EngineDeps): Engine => ({
  plan(request) {
    const first = draftTurn(request, deps.approaches.first(request), deps);
    const approved: ApprovedResults = new Map();
    return {
      ignored: [...first.unsaid, ...first.leftOut],
      refused: first.refused,
      run: (signal, onSettled) => runTurn(request, first, { deps, signal, onSettled, approved }),
    };
  },
});

interface Running {
  readonly deps: EngineDeps;
  readonly signal: AbortSignal;
  readonly onSettled: (() => void) | undefined;
  readonly approved: ApprovedResults;
}

/** Begins as planned. After a refusal that came before the answer began, the request is put in another way. */
async function* runTurn(
  request: TurnRequest,
  first: Draft,
  { deps, signal, onSettled, approved }: Running,
): AsyncGenerator<TurnEvent> {
  const tried: Approach[] = [first.approach];
  let draft = first;
  for (let losses = 0; ;) {
    const lease = await deps.workers.lease(signal);
    const turn = new TurnAttempt(deps, lease, { draft, signal, mayRetry: losses + 1 < ATTEMPTS, approved });
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
        const { refusal } = error;
        const next = nextDraft(request, tried, refusal.outcome.failure, deps);
        if (next === null) {
          const failed = deps.approaches.told(refusal.outcome.failure);
          deps.onRefused(failed);
          yield { ...refusal, outcome: { kind: 'failed', failure: failed } };
          return;
        }
        draft = next;
        tried.push(next.approach);
      }
    } finally {
      turn.letGo();
    }
  }
}

/** Null: there is no other way, or nothing of the conversation would be left in it. */
const nextDraft = (
  request: TurnRequest,
  tried: readonly Approach[],
  refusal: Failure,
  deps: EngineDeps,
): Draft | null => {
  const approach = deps.approaches.next(request, tried, refusal);
  if (approach === null) return null;
  const draft = draftTurn(request, approach, deps);
  return draft.request.items.length === 0 ? null : draft;
};
