import { failureOf, gatewayError, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { isReasoning, isToolCall } from '../../canonical/request/item.ts';
import {
  beginEvents,
  eventsBefore,
  handleEvents,
  NO_EVENTS,
  type EventHandler,
} from '../../canonical/events/handle-events.ts';
import type { OpenSpan } from '../../canonical/context/trace.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import type { Refusals } from '../../codex/capabilities/refusals.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import { placeOf, type History } from '../../codex/translate/fit-history.ts';
import type { WorkerLeases } from '../../codex/worker/supervisor.ts';
import type { RequestStrategies } from '../plan/request-strategies.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { TurnDriver } from '../drivers/driver.ts';
import type { Draft } from '../plan/draft-turn.ts';
import { RefusedEarly, WorkerLostEarly, type TurnAttempt } from './turn-attempt.ts';
import type { Engine, Plan } from '../engine.ts';
import type { ApprovedResults } from '../mcp/mcp-turn.ts';
import type { BackendMemory, RecalledHistory } from '../memory/reasoning-memory.ts';
import type { ReasoningOrigin } from '../memory/reasoning-origins.ts';

export interface EngineDeps {
  readonly driver: TurnDriver;
  readonly workers: WorkerLeases;
  readonly strategies: RequestStrategies;
  /** What the backend was found to reject. */
  readonly refusals: Refusals;
  /** The reasoning of models before tool calls. */
  readonly reasoning: BackendMemory;
  /** Encrypted reasoning of this backend and its account, and of others. */
  readonly origin: ReasoningOrigin;
  /** The number of items of other accounts or backends in a conversation, which are left out. */
  readonly onForeign: (items: number) => void;
  /** The number of items restored in a conversation. */
  readonly onRecalled: (items: number) => void;
  /** The backend rejected a turn with every strategy. */
  readonly onRefused: (failed: Failure) => void;
  /** Whether the login's tokens have been renewed since then. */
  readonly wasRenewedSince: (timeMs: number) => Promise<boolean>;
  readonly clock: Clock;
}

/** Attempts at a turn whose worker dies before the client has seen anything. */
const ATTEMPTS = 3;

/** Repetitions of a turn that failed because the login's tokens were being renewed. codex reports that in several ways. */
const RERUNS = 2;
const LOGIN_TROUBLE: ReadonlySet<Failure['kind']> = new Set<Failure['kind']>([
  'upstream_unauthorized',
  'sign_in_required',
  'upstream_error',
]);
/** codex may take this long to write new tokens to its home. */
const RENEWAL_SETTLES_MS = 10_000;

export const createEngine = (deps: EngineDeps): Engine => ({
  plan(request, context) {
    const turn = { request, context };
    const { revision } = deps.refusals;
    const recalled = deps.reasoning.recall(turn);
    const first = deps.driver.draft(turn, deps.strategies.first(turn), recalled.history);
    const approved: ApprovedResults = new Map();
    const planned = { ...turn, ...recalled, first };
    return {
      ignored: [...first.unsaid, ...first.leftOut],
      refused: first.refused,
      takesImageUrls: deps.driver.carries.imageUrls,
      effort: first.unsaid.includes('reasoning.effort') ? null : first.request.reasoning.effort,
      isCurrent: () => deps.refusals.revision === revision,
      run: (signal, onSettled) => runTurn(planned, approved, deps, [signal, onSettled]),
    };
  },
});

/** A turn, and its conversation with the reasoning that the client did not send. */
interface RecalledTurn extends Turn {
  readonly history: History;
}

interface PlannedTurn extends RecalledTurn, RecalledHistory {
  readonly first: Draft;
}

/** Runs the turn as planned. If the backend rejects it before the answer begins, tries the next strategy. */
const runTurn = (
  planned: PlannedTurn,
  approved: ApprovedResults,
  deps: EngineDeps,
  how: Parameters<Plan['run']>,
): AsyncIterable<TurnEvent> => beginEvents(() => acceptedTurn(planned, approved, deps, how));

/** The events of the first attempt that the backend accepts. */
const acceptedTurn = async (
  planned: PlannedTurn,
  approved: ApprovedResults,
  deps: EngineDeps,
  [signal, onSettled]: Parameters<Plan['run']>,
): Promise<AsyncIterator<TurnEvent>> => {
  const { first, ...asked } = await withLoaded(planned, deps);
  const { budget, trace } = asked.context;
  const recalled = recalledIn(asked);
  deps.onRecalled(recalled);
  deps.onForeign(deps.origin.foreignIn(asked.history.items));
  if (recalled > 0) trace.record('recalled', asked.history);
  /** Whether the request was tried without the recalled items, which may be why it is rejected. */
  let trial: 'none' | 'now' | 'over' = recalled === 0 ? 'over' : 'none';
  let refused: Failure | null = null;
  const tried: RequestStrategy[] = [first.strategy];
  let draft = first;
  let reruns = 0;
  for (let losses = 0; ;) {
    if (budget.isLimitReached) throw new GatewayError(budget.exceeded());
    const startedAt = deps.clock.now();
    const span = trace.begin('attempt', { model: asked.request.model, format: draft.strategy.requestFormat });
    const lease = await deps.workers.lease(signal).catch((error: unknown) => {
      span.end({ error: codeOf(error) });
      throw error;
    });
    const turn = deps.driver.attempt(lease, {
      draft,
      context: { ...asked.context, trace: span },
      signal,
      mayRetry: () => losses + 1 < ATTEMPTS && budget.retry('worker lost'),
      approved,
    });
    const leave = (): void => {
      span.end();
      turn.leave();
    };
    const onAccepted = (): void => {
      deps.strategies.worked(asked, tried);
      if (draft.strategy.reasoning === 'left-out') deps.origin.refused(asked.history.items);
      if (trial === 'now' && refused !== null) deps.reasoning.refused(asked, refused);
      if (onSettled !== undefined) turn.whenLetGo(onSettled);
    };
    const events = draft.shown(turn.events())[Symbol.asyncIterator]();
    try {
      const { value } = await events.next();
      const begun = eventsBefore(value === undefined ? [] : [value], events);
      return handleEvents({ [Symbol.asyncIterator]: () => begun }, () =>
        answerHandler(asked, turn, deps, { onAccepted, span, leave }),
      )[Symbol.asyncIterator]();
    } catch (error) {
      span.end({ error: codeOf(error) });
      leave();
      if (error instanceof WorkerLostEarly) losses += 1;
      else if (!(error instanceof RefusedEarly)) throw error;
      else {
        const { refusal } = error;
        const { failure } = refusal.outcome;
        const mayAskAgain = !budget.isLimitReached;
        const mayDropRecalled = mayAskAgain && trial === 'none' && failure.kind === 'invalid_prompt';
        if (mayDropRecalled && budget.retry('reasoning rejected')) {
          trial = 'now';
          refused = failure;
          draft = deps.driver.draft(asked, draft.strategy);
          continue;
        }
        const mayRerun = mayAskAgain && reruns < RERUNS && (await isRenewalTrouble(failure, startedAt, deps));
        if (mayRerun && budget.retry('login renewed')) {
          reruns += 1;
          continue;
        }
        trial = 'over';
        const next = mayAskAgain ? nextDraft(asked, tried, failure, deps) : null;
        if (next === null || !budget.retry('request rejected')) {
          const failed = deps.strategies.explained(failure);
          deps.onRefused(failed);
          return eventsBefore([{ ...refusal, outcome: { kind: 'failed', failure: failed } }], NO_EVENTS);
        }
        draft = next;
        tried.push(next.strategy);
      }
    }
  }
};

/** Remembers the reasoning of an answer before its client can answer a call, and who wrote it. */
const answerHandler = (
  asked: RecalledTurn,
  turn: TurnAttempt,
  { reasoning, origin }: EngineDeps,
  {
    onAccepted,
    span,
    leave,
  }: { readonly onAccepted: () => void; readonly span: OpenSpan; readonly leave: () => void },
): EventHandler => {
  let hasCalled = false;
  return {
    event(event) {
      if (event.type === 'item-delta') return event;
      if (event.type === 'turn-accepted') onAccepted();
      // Some clients disconnect as soon as they have read a call.
      const isCalled = event.type === 'item-ended' && isToolCall(event.item);
      const isOver = event.type === 'turn-ended' && event.outcome.kind === 'tool-calls';
      if ((isCalled && !hasCalled) || isOver) reasoning.remember(asked, turn.answer);
      hasCalled ||= isCalled;
      return origin.named(event);
    },
    thrown(error) {
      span.end({ error: codeOf(error) });
      throw error;
    },
    over: leave,
  };
};

const codeOf = (error: unknown): string => {
  if (error instanceof RefusedEarly) return error.refusal.outcome.failure.code;
  return error instanceof WorkerLostEarly ? gatewayError('worker_lost').failure.code : failureOf(error).code;
};

/** Planned again, if the store has reasoning that was not known when the turn was planned. */
const withLoaded = async (planned: PlannedTurn, { reasoning, driver }: EngineDeps): Promise<PlannedTurn> => {
  const { missing, first } = planned;
  if (missing.length === 0 || !(await reasoning.load(planned, missing))) return planned;
  const recalled = reasoning.recall(planned);
  return { ...planned, ...recalled, first: driver.draft(planned, first.strategy, recalled.history) };
};

const isRenewalTrouble = async ({ kind }: Failure, startedAt: number, deps: EngineDeps): Promise<boolean> =>
  LOGIN_TROUBLE.has(kind) && (await deps.wasRenewedSince(startedAt - RENEWAL_SETTLES_MS));

/** The number of reasoning items that the client did not send, or not completely. */
const recalledIn = ({ request: { items }, history }: RecalledTurn): number =>
  history.items === items
    ? 0
    : history.items.filter((item, at) => isReasoning(item) && item !== items[placeOf(history, at) ?? -1])
        .length;

/** Null: there is no other strategy, or it would leave nothing of the conversation. */
const nextDraft = (
  asked: RecalledTurn,
  tried: readonly RequestStrategy[],
  refusal: Failure,
  deps: EngineDeps,
): Draft | null => {
  const strategy = deps.strategies.next(
    { ...asked, request: { ...asked.request, items: asked.history.items } },
    tried,
    refusal,
  );
  if (strategy === null) return null;
  const draft = deps.driver.draft(asked, strategy, asked.history);
  return draft.request.items.length === 0 ? null : draft;
};
