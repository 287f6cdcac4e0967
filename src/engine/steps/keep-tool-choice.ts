import { failure } from '../../canonical/failure/failure.ts';
import { meetsChoice } from '../../canonical/request/forced-choice.ts';
import { wordsOf, type Produced } from '../../canonical/request/item.ts';
import { isForced, type ToolChoice } from '../../canonical/request/tool.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Engine, Plan } from '../engine.ts';
import { holdBack, usageOf, type Verdict } from './hold-back.ts';
import { Settling } from './settling.ts';

/**
 * Makes a forced tool call happen, or the turn fail. Backends ignore such a choice, or have no field for it: so the
 * beginning of an answer is held back until the call begins, even that the turn was accepted. An answer without the
 * call is discarded, and the model is asked once more.
 */
export const keepToolChoice = (engine: Engine, clock: Clock): Engine => ({
  plan(request, context) {
    const plan = engine.plan(request, context);
    if (!isForced(request.toolChoice) || isOfBackend(request.toolChoice)) return plan;
    // Planned when it is run: by then more may be known of the backend.
    const again: Plan['run'] = (...how) => engine.plan({ ...request, insists: true }, context).run(...how);
    const meets = meetsChoice(request.toolChoice);
    return {
      ...plan,
      run: (...how) => untilKept([(...first) => plan.run(...first), again], how, { meets, clock }),
    };
  },
});

/** The backend decides when to call a tool that it runs itself. */
const isOfBackend = (choice: ToolChoice): boolean => choice.mode === 'named' && choice.tool.kind === 'hosted';

interface Keeping {
  readonly meets: (item: Produced) => boolean;
  readonly clock: Clock;
}

async function* untilKept(
  attempts: readonly Plan['run'][],
  [signal, onSettled]: Parameters<Plan['run']>,
  { meets, clock }: Keeping,
): AsyncGenerator<TurnEvent> {
  let spent: Usage | null = null;
  for (const run of attempts) {
    const settling = new Settling(onSettled);
    const judge = judgeBy(meets);
    const events = run(signal, settling.settle);
    const held = yield* holdBack(events, { judge, whenFull: 'discard', signal, settling, spent });
    if (held === null) return;
    spent = addUsage(spent, usageOf(held));
  }
  const outcome = { kind: 'failed', failure: failure('tool_choice_not_satisfied') } as const;
  yield { type: 'turn-ended', outcome, usage: spent, at: clock.now() };
}

/** Holds events until the call begins, or until the turn ends in a way that another attempt would not change. */
const judgeBy = (meets: Keeping['meets']): ((event: TurnEvent) => Verdict) => {
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
