import {
  asksForCompaction,
  isEncryptedCompaction,
  summaryRequest,
} from '../../canonical/request/compaction.ts';
import { failure, type Failure } from '../../canonical/failure/failure.ts';
import { answerText, type Produced, type Summary } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import { rejectionsFor, type Rejection } from '../../canonical/failure/rejection.ts';
import { allTools, isForced } from '../../canonical/request/tool.ts';
import { itemIdOf, type TurnEnded, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import type { CompactionSupport } from '../../codex/capabilities/compaction.ts';
import type { Refusals } from '../../codex/capabilities/refusals.ts';
import type { IdSource } from '../../kit/ambient.ts';
import type { Plan } from '../engine.ts';
import { changeEvents, Settling, type Step } from './step.ts';
import { holdBack, type HoldVerdict } from './hold-back.ts';

export interface CompactionDeps {
  /** What is known about the backend. */
  readonly compaction: CompactionSupport;
  readonly refusals: Refusals;
  readonly ids: IdSource;
  /** The backend ignored or rejected a request for a compaction. */
  readonly onNoCompaction: (model: string) => void;
}

/**
 * Answers a conversation that ends with a compaction trigger with its compaction only: the backend's own, which only
 * that backend can read, or a summary in words.
 */
export const compactConversations: Step<CompactionDeps> = {
  name: 'compact-conversations',
  why: 'Backends without compaction get a request for a summary instead. Around the forced tool choice, which a compaction does not have.',
  wrap: (next, { compaction, refusals, ids, onNoCompaction }) => {
    return (request, context) => {
      const turn = { request, context };
      // A rejection may have been a single odd answer: compactions made before can still be read.
      const support = refusals.has(turn, 'compaction trigger') ? 'unknown' : compaction;
      const unreadable = support === 'none' ? sealedIn(request) : [];
      if (!asksForCompaction(request)) return refusing(next(request, context), unreadable);
      const planCleared = (cleared: ClearedRequest): Plan => planOf(next(cleared.request, context), cleared);
      const summary = (): Plan => {
        const plan = planCleared(forSummary(request));
        return { ...plan, run: (...how) => summarised(plan.run(...how), ids) };
      };
      if (support !== 'native') return refusing(summary(), unreadable);
      const native = planCleared(withoutForce(request));
      const otherwise = (): Plan | null => {
        const plan = refusing(summary(), sealedIn(request));
        if (plan.refused.length > 0 || !context.budget.retry('no compaction')) return null;
        refusals.add(turn, 'compaction trigger');
        onNoCompaction(request.model);
        return plan;
      };
      return { ...native, run: (...how) => untilCompacted(native, how, otherwise) };
    };
  },
};

const refusing = (plan: Plan, refused: readonly Rejection[]): Plan =>
  refused.length === 0 ? plan : { ...plan, refused: [...plan.refused, ...refused] };

/** Compactions in the conversation that this backend cannot read, so that the model would not see them. */
const sealedIn = ({ items }: TurnRequest): readonly Rejection[] =>
  items.flatMap((item, index): readonly Rejection[] => {
    if (!isEncryptedCompaction(item)) return [];
    const why = 'is a compaction of another backend, which this one cannot read';
    return [{ path: { item: index }, kind: 'unsupported_value', why }];
  });

/** A request without what would prevent a compaction, and which of that the client asked for. */
interface ClearedRequest {
  readonly request: TurnRequest;
  readonly ignored: readonly Path[];
}

const planOf = (plan: Plan, { request, ignored }: ClearedRequest): Plan => {
  if (ignored.length === 0) return plan;
  const event = (one: TurnEvent): TurnEvent =>
    one.type === 'turn-accepted' ? { ...one, ignored: [...one.ignored, ...ignored] } : one;
  return {
    ...changeEvents(plan, () => ({ event })),
    ignored: [...plan.ignored, ...ignored],
    refused: [...plan.refused, ...rejectionsFor(request, ignored)],
  };
};

/** A compaction has no calls, so none can be forced. */
const withoutForce = (request: TurnRequest): ClearedRequest =>
  isForced(request.toolChoice)
    ? { request: { ...request, toolChoice: { mode: 'auto' } }, ignored: ['toolChoice'] }
    : { request, ignored: [] };

/**
 * The backend's own compaction. Nothing is sent before it begins: a backend that does not know the trigger rejects it,
 * or answers the conversation, and then a summary is made.
 */
async function* untilCompacted(
  native: Plan,
  [signal, onSettled]: Parameters<Plan['run']>,
  otherwise: () => Plan | null,
): AsyncGenerator<TurnEvent> {
  const settling = new Settling(onSettled);
  const begun = new Set<string>();
  const judge = (event: TurnEvent): HoldVerdict => {
    if (event.type === 'item-started' && event.item.kind === 'compaction') begun.add(event.item.id);
    const id = itemIdOf(event);
    if (id !== null && !begun.has(id)) return 'drop';
    if (event.type === 'turn-accepted') return 'hold';
    const isLost = event.type === 'turn-ended' && begun.size === 0 && cameToNothing(event);
    return isLost ? 'discard' : 'decide';
  };
  const events = native.run(signal, settling.settle);
  const held = yield* holdBack(events, { judge, whenFull: 'discard', signal, settling });
  const lost = held?.at(-1);
  if (held === null || lost?.type !== 'turn-ended') return;
  const summary = otherwise();
  if (summary === null) {
    settling.markLast();
    yield* held.slice(0, -1);
    yield lost.outcome.kind === 'failed' ? lost : failed(lost, NO_COMPACTION);
    return;
  }
  const { usage } = lost;
  for await (const event of summary.run(signal, onSettled)) {
    yield event.type === 'turn-ended' ? { ...event, usage: addUsage(usage, event.usage) } : event;
  }
}

/** Whether the backend does not know compactions. Other failures would occur again. */
const cameToNothing = ({ outcome }: TurnEnded): boolean =>
  outcome.kind === 'failed'
    ? isAboutTrigger(outcome.failure)
    : outcome.kind === 'completed' || outcome.kind === 'tool-calls';

const isAboutTrigger = ({ status, code, message }: Failure): boolean =>
  (status === 400 || status === 422) && code !== 'invalid_encrypted_content' && /compaction/i.test(message);

/** A summary is text of any length: what the client asks of its answers does not apply to it. */
const forSummary = (request: TurnRequest): ClearedRequest => {
  const { items, format, maxOutputTokens, logprobs, include } = request;
  const candidates: readonly (readonly [Path, boolean])[] = [
    ['toolChoice', isForced(request.toolChoice)],
    ['format', format.kind !== 'text'],
    ['maxOutputTokens', maxOutputTokens !== null],
    ['logprobs.top', logprobs.top !== null],
    ['contextManagement', request.contextManagement !== null],
    ...include.map((value) => [{ include: value }, true] as const),
  ];
  const asked = [...items.slice(0, -1), summaryRequest()];
  // Items may bring tools along.
  const hasTools = allTools({ tools: [], items: asked }).length > 0;
  return {
    ignored: candidates.filter(([, isMissed]) => isMissed).map(([path]) => path),
    request: {
      ...request,
      items: asked,
      tools: [],
      toolChoice: { mode: hasTools ? 'none' : 'auto' },
      parallelToolCalls: null,
      maxToolCalls: null,
      format: { kind: 'text' },
      maxOutputTokens: null,
      logprobs: { ...logprobs, top: null },
      include: [],
      contextManagement: null,
    },
  };
};

/** The text of the answer as a compaction. */
async function* summarised(events: AsyncIterable<TurnEvent>, ids: IdSource): AsyncGenerator<TurnEvent> {
  const texts: string[] = [];
  for await (const event of events) {
    if (event.type === 'turn-accepted') yield event;
    if (event.type === 'item-ended') texts.push(answerText(event.item));
    if (event.type !== 'turn-ended') continue;
    if (event.outcome.kind === 'failed' || event.outcome.kind === 'incomplete') {
      yield event;
      continue;
    }
    const summary = texts.filter((text) => text.trim() !== '').join('\n\n');
    if (summary === '') {
      yield failed(event, NO_SUMMARY);
      continue;
    }
    const item: Produced<Summary> = { kind: 'compaction', id: ids.mint('cmp'), summary };
    yield { type: 'item-started', item };
    yield { type: 'item-ended', item };
    yield { ...event, outcome: { kind: 'completed' } };
  }
}

const failed = (event: TurnEnded, message: string): TurnEnded => ({
  ...event,
  outcome: { kind: 'failed', failure: failure('upstream_error', { message }) },
});

const NO_COMPACTION = 'The backend was asked for a compaction of the conversation and made none.';
const NO_SUMMARY = 'The model was asked for a summary of the conversation and wrote none.';
