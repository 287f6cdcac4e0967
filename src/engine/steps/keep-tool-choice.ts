import type { ModelBudget } from '../../canonical/context/model-budget.ts';
import { failure } from '../../canonical/failure/failure.ts';
import { meetsChoice, isForced, type ToolChoice } from '../../canonical/request/tool.ts';
import { wordsOf, type Produced } from '../../canonical/request/item.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Plan } from '../engine.ts';
import { holdBack, usageOf, type HoldRules, type HoldVerdict } from './hold-back.ts';
import { Settling, type Step } from './step.ts';

/** How often the model is asked for the call. */
const ATTEMPTS = 2;

/**
 * Makes a forced tool call happen, or the turn fail. The beginning of an answer is held back until the call begins,
 * even that the turn was accepted. An answer without the call is discarded, and the model is asked once more.
 */
export const keepToolChoice: Step<{ readonly clock: Clock }> = {
  name: 'keep-tool-choice',
  why: 'Backends ignore a forced tool choice, or have no field for it. Around the tools in prose, whose calls it must see.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const plan = next(request, context);
      if (!isForced(request.toolChoice) || isOfBackend(request.toolChoice)) return plan;
      // Planned when it is run: by then more may be known about the backend.
      const again = (): Plan => next({ ...request, insists: true }, context);
      const meets = meetsChoice(request.toolChoice);
      const { budget } = context;
      return { ...plan, run: (...how) => untilKept(plan, how, { again, meets, clock, budget }) };
    },
};

/** The backend decides when to call a tool that it runs itself. */
const isOfBackend = (choice: ToolChoice): boolean => choice.mode === 'named' && choice.tool.kind === 'hosted';

interface ChoiceAttempts {
  readonly again: () => Plan;
  readonly meets: (item: Produced) => boolean;
  readonly clock: Clock;
  readonly budget: ModelBudget;
}

async function* untilKept(
  first: Plan,
  [signal, onSettled]: Parameters<Plan['run']>,
  { again, meets, clock, budget }: ChoiceAttempts,
): AsyncGenerator<TurnEvent> {
  let spent: Usage | null = null;
  let plan = first;
  for (let attempt = 1; ; attempt += 1) {
    const settling = new Settling(onSettled);
    const events = plan.run(signal, settling.settle);
    const rules: HoldRules = { judge: judgeBy(meets), whenFull: 'discard', signal, settling, spent };
    const held = yield* holdBack(events, rules);
    if (held === null) return;
    spent = addUsage(spent, usageOf(held));
    if (attempt === ATTEMPTS || !budget.retry('forced call missing')) break;
    plan = again();
  }
  const outcome = { kind: 'failed', failure: failure('tool_choice_not_satisfied') } as const;
  yield { type: 'turn-ended', outcome, usage: spent, at: clock.now() };
}

/** Holds events until the call begins, or until the turn ends in a way that another attempt would not change. */
const judgeBy = (meets: ChoiceAttempts['meets']): ((event: TurnEvent) => HoldVerdict) => {
  /** Calls of other tools: the client has ruled them out. */
  const unwanted = new Set<string>();
  let isOver = false;
  let refuses = false;
  const isDecisive = (event: TurnEvent): boolean => {
    if (event.type === 'item-started') return meets(event.item);
    if (event.type === 'item-ended') {
      refuses ||= event.item.kind === 'message' && wordsOf(event.item, 'refusal') !== '';
    }
    if (event.type !== 'turn-ended') return false;
    return refuses || event.outcome.kind === 'failed' || event.outcome.kind === 'incomplete';
  };
  return (event) => {
    if (event.type === 'item-started' && event.item.kind === 'tool-call' && !meets(event.item)) {
      unwanted.add(event.item.id);
    }
    if (unwanted.has(itemIdOf(event) ?? '')) return 'drop';
    if (isOver) return 'send';
    isOver = isDecisive(event);
    return isOver ? 'decide' : 'hold';
  };
};
