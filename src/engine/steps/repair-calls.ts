import type { TurnContext } from '../../canonical/context/turn-context.ts';
import { Accumulator, type Reply } from '../../canonical/events/accumulate.ts';
import { GatewayError } from '../../canonical/failure/failure.ts';
import type { Item, Produced, ToolOutput } from '../../canonical/request/item.ts';
import type { FunctionTool, Tool } from '../../canonical/request/tool.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { append } from '../../kit/collections/lists.ts';
import { within } from '../../kit/async/wait.ts';
import type { Plan } from '../engine.ts';
import { FreshIds, Settling, type Step } from './step.ts';
import { holdBack, release, usageOf, type HoldVerdict } from './hold-back.ts';

export interface RepairLimits {
  /** How often the model may try again. */
  readonly attempts: number;
  /** Whether streams are held back for it. */
  readonly inStreams: boolean;
  readonly onRepair: (result: RepairResult) => void;
}

export interface RepairRules extends RepairLimits {
  /** Describes what is wrong with the arguments of a call; null: nothing, or unknown. */
  readonly check: (tool: FunctionTool, input: string, caller: string) => Promise<string | null>;
}

/** `passed_on`: the last attempt is invalid too, and the client gets it. */
export type RepairResult = 'repaired' | 'passed_on';

/**
 * Sends calls of strict functions whose arguments break their schema back to the model, as if the client had answered
 * them, and lets it try again. The client does not see it.
 */
export const repairCalls: Step<{ readonly repair: RepairRules; readonly isStream: boolean }> = {
  name: 'repair-calls',
  why: 'Backends without strict mode accept `strict` and ignore it. Next to the engine, whose answers it judges before any other step acts on them.',
  wrap: (next, { repair, isStream }) =>
    repair.attempts === 0 || (isStream && !repair.inStreams)
      ? next
      : (request, context) => {
          const plan = next(request, context);
          const strict = new Map(request.tools.filter(isStrict).map((tool) => [tool.name, tool]));
          if (strict.size === 0) return plan;
          const repairing: RepairRun = {
            ...repair,
            strict,
            context,
            plan: (again) => next(again, context),
            holds: isStream ? 'calls' : 'answer',
          };
          return { ...plan, run: (...how) => untilSound(plan, request, how, repairing) };
        },
};

const isStrict = (tool: Tool): tool is FunctionTool =>
  tool.kind === 'function' && tool.strict === true && tool.parameters !== null;

interface RepairRun extends RepairRules {
  readonly context: TurnContext;
  /** Plans a request that continues after a rejected answer. */
  readonly plan: (request: TurnRequest) => Plan;
  /** `answer`: everything waits until the answer is complete. `calls`: only from the first call on. */
  readonly holds: 'answer' | 'calls';
  readonly strict: ReadonlyMap<string, FunctionTool>;
}

async function* untilSound(
  first: Plan,
  request: TurnRequest,
  [signal, onSettled]: Parameters<Plan['run']>,
  options: RepairRun,
): AsyncGenerator<TurnEvent> {
  const ids = new FreshIds();
  /** The rejected answers, and the errors sent to the model for them. */
  const since: Item[] = [];
  let plan = first;
  let spent: Usage | null = null;
  /** What is held of the previous answer, in case that this one fails. */
  let last: readonly TurnEvent[] | null = null;
  for (let left = options.attempts; ; left -= 1) {
    const settling = new Settling(onSettled);
    const attempt = new Attempt(options.holds, last === null);
    let held: readonly TurnEvent[] | null = [];
    try {
      held = yield* holdBack(ids.answer(plan.run(signal, settling.settle)), {
        judge: (event) => attempt.judge(event),
        maxBytes: options.holds === 'calls' ? MAX_HELD_BYTES : undefined,
        whenFull: 'decide',
        signal,
        settling,
        spent,
      });
    } catch (error) {
      if (last === null || signal.aborted || !(error instanceof GatewayError)) throw error;
    }
    if (held === null) return;
    const problems = attempt.isSound ? await problemsIn(attempt.reply, options) : NONE;
    if (problems.size > 0 && left > 0 && options.context.budget.retry('invalid arguments')) {
      const { items, usage } = attempt.reply;
      spent = addUsage(spent, usage);
      append(since, items);
      append(since, outputsOf(items, problems));
      plan = options.plan({ ...request, items: [...request.items, ...since] });
      last = held;
      continue;
    }
    const isLost = last !== null && !attempt.isSound;
    if (isLost || problems.size > 0) options.onRepair('passed_on');
    else if (last !== null) options.onRepair('repaired');
    settling.markLast();
    if (isLost && last !== null) {
      const usage = addUsage(spent, usageOf(held));
      yield* release(
        last.map((event) => (event.type === 'turn-ended' ? { ...event, usage } : event)),
        signal,
      );
    } else yield* release(held, signal, spent);
    return;
  }
}

/** The most that is held back of a stream; beyond this it is sent unchecked. */
const MAX_HELD_BYTES = 1024 * 1024;

/** One answer of the model. Decides which of its events wait. */
class Attempt {
  readonly #holds: RepairRun['holds'];
  readonly #isFirst: boolean;
  readonly #all = new Accumulator();
  #hasCall = false;
  #hasEnded = false;
  #isHolding = false;
  /** Items whose start was sent: they are sent to their end, even if the calls are rejected. */
  readonly #sent = new Set<string>();
  /** Items whose start is held. */
  readonly #waiting = new Set<string>();

  constructor(holds: RepairRun['holds'], isFirst: boolean) {
    this.#holds = holds;
    this.#isFirst = isFirst;
  }

  /** Whether it ended without a failure. */
  get isSound(): boolean {
    if (!this.#hasEnded) return false;
    const { kind } = this.reply.outcome;
    return kind === 'tool-calls' || kind === 'completed';
  }

  get reply(): Reply {
    return this.#all.reply();
  }

  judge(event: TurnEvent): HoldVerdict {
    this.#all.add(event);
    if (event.type === 'turn-accepted') return this.#isFirst ? 'send' : 'drop';
    if (this.#sent.has(itemIdOf(event) ?? '')) return 'send';
    this.#hasEnded ||= event.type === 'turn-ended';
    if (this.#mayRelease(event)) {
      this.#isHolding = false;
      for (const id of this.#waiting) this.#sent.add(id);
      this.#waiting.clear();
      return 'release';
    }
    if (!this.#isHeld(event)) return 'send';
    if (event.type === 'item-started') this.#waiting.add(event.item.id);
    this.#isHolding = true;
    return 'hold';
  }

  /**
   * Reasoning in a stream waits for what it led to: that of a discarded call must be discarded too, because a backend
   * rejects reasoning that nothing follows.
   */
  #mayRelease(event: TurnEvent): boolean {
    if (event.type !== 'item-started' || this.#holds === 'answer') return false;
    this.#hasCall ||= event.item.kind === 'tool-call';
    if (this.#hasCall || event.item.kind === 'reasoning') return false;
    this.#sent.add(event.item.id);
    return true;
  }

  #isHeld(event: TurnEvent): boolean {
    if (this.#holds === 'answer' || this.#hasCall || this.#isHolding) return true;
    return event.type === 'turn-ended' || (event.type === 'item-started' && event.item.kind === 'reasoning');
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

/** For all checks of an answer: a schema may be slow to check, and there may be thousands of calls. */
const MAX_CHECK_MS = 5_000;

/** The problems found within the time limit, by call id. */
const problemsIn = async (
  { items }: Reply,
  { strict, check, context }: RepairRun,
): Promise<ReadonlyMap<string, string>> => {
  const problems = new Map<string, string>();
  let isLate = false;
  const checking = async (): Promise<true> => {
    for (const item of items) {
      if (isLate) break;
      if (item.kind !== 'tool-call' || item.tool !== 'function' || item.namespace !== undefined) continue;
      const tool = strict.get(item.name);
      const problem = tool === undefined ? null : await check(tool, item.input, context.caller.keyId);
      if (problem !== null && !isLate) problems.set(item.callId, problem);
    }
    return true;
  };
  isLate = (await within(checking(), MAX_CHECK_MS)) === null;
  return problems;
};

const NOT_RUN = 'This call was not made, because another one in the same answer has invalid arguments.';

/** An output for each call, because a conversation needs one. */
const outputsOf = (
  items: readonly Produced[],
  problems: ReadonlyMap<string, string>,
): readonly ToolOutput[] =>
  items.flatMap((item): readonly ToolOutput[] => {
    if (item.kind !== 'tool-call') return [];
    const { tool, callId, name } = item;
    const problem = problems.get(callId);
    const output =
      problem === undefined
        ? NOT_RUN
        : `The arguments do not match the schema of ${JSON.stringify(name)}: ${problem}. The call was not made. Make it again with arguments that match.`;
    return [{ kind: 'tool-output', tool, callId, output }];
  });
