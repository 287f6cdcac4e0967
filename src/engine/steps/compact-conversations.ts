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
import { circumstancesOf, type Turn, type TurnContext } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage } from '../../canonical/events/usage.ts';
import type { CompactionSupport } from '../../codex/capabilities/compaction.ts';
import type { Ambient, IdSource } from '../../kit/ambient.ts';
import { Recent } from '../../kit/collections/recent.ts';
import type { Engine, Plan } from '../engine.ts';
import { holdBack, type Verdict } from './hold-back.ts';
import { Settling } from './settling.ts';

export interface CompactionOptions {
  /** What is known of the backend. */
  readonly support: CompactionSupport;
  readonly ambient: Ambient;
  /** The backend was asked for a compaction and made none; that is remembered for a while. */
  readonly onLearnt: (model: string) => void;
}

/** Model names come from clients, and a backend may learn too: what is remembered about them has an end. */
const MAX_LEARNT = 1_000;
const LEARNT_FOR_MS = 10 * 60_000;

/**
 * A conversation that ends with a trigger is answered with its compaction, and with nothing else: the backend's own,
 * which only it can read, or a summary in words where it has none.
 */
export const compactConversations = (engine: Engine, options: CompactionOptions): Engine => {
  const learnt = new Recent<true>(MAX_LEARNT, LEARNT_FOR_MS, options.ambient.clock);
  return {
    plan(request, context) {
      const turn = { request, context };
      // It may have been one odd answer: what the backend has made before it can still read.
      const support = learnt.get(circumstancesOf(turn)) === undefined ? options.support : 'unknown';
      const unreadable = support === 'none' ? sealedIn(request) : [];
      if (!asksForCompaction(request)) return refusing(engine.plan(request, context), unreadable);
      const summary = (): Plan => summaryPlan(engine, turn, options.ambient.ids);
      if (support !== 'native') return refusing(summary(), unreadable);
      const native = planOf(engine, withoutForce(request), context);
      return {
        ...native,
        run: (...how) =>
          untilCompacted(native, how, () => {
            const plan = refusing(summary(), sealedIn(request));
            if (plan.refused.length > 0) return null;
            learnt.set(circumstancesOf(turn), true);
            options.onLearnt(request.model);
            return plan;
          }),
      };
    },
  };
};

const refusing = (plan: Plan, refused: readonly Rejection[]): Plan =>
  refused.length === 0 ? plan : { ...plan, refused: [...plan.refused, ...refused] };

/** What the model would not know of, because its backend cannot read it. */
const sealedIn = ({ items }: TurnRequest): readonly Rejection[] =>
  items.flatMap((item, index): readonly Rejection[] => {
    if (!isEncryptedCompaction(item)) return [];
    const why = 'is a compaction of another backend, which this one cannot read';
    return [{ path: { item: index }, kind: 'unsupported_value', why }];
  });

/** A request without what would stand in the way of a compaction, and what of that somebody would miss. */
interface Cleared {
  readonly request: TurnRequest;
  readonly ignored: readonly Path[];
}

const planOf = (engine: Engine, { request, ignored }: Cleared, context: TurnContext): Plan => {
  const plan = engine.plan(request, context);
  if (ignored.length === 0) return plan;
  return {
    ...plan,
    ignored: [...plan.ignored, ...ignored],
    refused: [...plan.refused, ...rejectionsFor(request, ignored)],
    async *run(...how) {
      for await (const event of plan.run(...how)) {
        yield event.type === 'turn-accepted' ? { ...event, ignored: [...event.ignored, ...ignored] } : event;
      }
    },
  };
};

/** No call is wanted, so none can be forced. */
const withoutForce = (request: TurnRequest): Cleared =>
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
  const judge = (event: TurnEvent): Verdict => {
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
    settling.isLast();
    yield* held.slice(0, -1);
    yield lost.outcome.kind === 'failed' ? lost : failed(lost, NO_COMPACTION);
    return;
  }
  const { usage } = lost;
  for await (const event of summary.run(signal, onSettled)) {
    yield event.type === 'turn-ended' ? { ...event, usage: addUsage(usage, event.usage) } : event;
  }
}

/** The backend does not know what a compaction is: anything else that goes wrong would go wrong again. */
const cameToNothing = ({ outcome }: TurnEnded): boolean =>
  outcome.kind === 'failed'
    ? isAboutTrigger(outcome.failure)
    : outcome.kind === 'completed' || outcome.kind === 'tool-calls';

/** Nothing else in a conversation that can be summed up is called so. */
const isAboutTrigger = ({ status, code, message }: Failure): boolean =>
  (status === 400 || status === 422) && code !== 'invalid_encrypted_content' && /compaction/i.test(message);

/** A turn like any other, whose text is the compaction. */
const summaryPlan = (engine: Engine, { request, context }: Turn, ids: IdSource): Plan => {
  const plan = planOf(engine, forSummary(request), context);
  return { ...plan, run: (...how) => asSummary(plan.run(...how), ids) };
};

/** What is asked for is a text as long as it need be: what the client says of its answers is not about it. */
const forSummary = (request: TurnRequest): Cleared => {
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

async function* asSummary(events: AsyncIterable<TurnEvent>, ids: IdSource): AsyncGenerator<TurnEvent> {
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
