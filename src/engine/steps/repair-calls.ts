import { Accumulator, type Reply } from '../../canonical/events/accumulate.ts';
import { GatewayError } from '../../canonical/failure/failure.ts';
import type { Item, Produced, ToolOutput } from '../../canonical/request/item.ts';
import type { FunctionTool, Tool } from '../../canonical/request/tool.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { append } from '../../kit/collections/append.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import { within } from '../../kit/async/within.ts';
import type { Plan } from '../engine.ts';
import { bytesOf } from '../attempt/mailbox.ts';
import { Settling } from './settling.ts';

export interface RepairOptions {
  /** What becomes of a request that goes on where the answer to another one went wrong. */
  readonly plan: (request: TurnRequest) => Plan;
  /** How often the model may try again. */
  readonly attempts: number;
  /** `answer`: all of it, until it is whole. `calls`: the calls and what comes behind the first of them. */
  readonly holds: 'answer' | 'calls';
  /** What is wrong with the arguments of a call; null: nothing, or nobody can tell. */
  readonly check: (tool: FunctionTool, input: string) => Promise<string | null>;
  readonly onRepair: (result: RepairResult) => void;
}

/** `passed_on`: the last attempt was no better, and the client has to deal with it. */
export type RepairResult = 'repaired' | 'passed_on';

/**
 * A model that calls a strict function with arguments that break its schema is told so and tries again, as
 * if the client had answered the call; the client does not see it. A request without such functions is left alone.
 */
export const repairCalls = (plan: Plan, request: TurnRequest, options: RepairOptions): Plan => {
  const strict = new Map(request.tools.filter(isStrict).map((tool) => [tool.name, tool]));
  if (strict.size === 0 || options.attempts === 0) return plan;
  return { ...plan, run: (...how) => untilSound(plan, request, how, { ...options, strict }) };
};

const isStrict = (tool: Tool): tool is FunctionTool =>
  tool.kind === 'function' && tool.strict === true && tool.parameters !== null;

interface Repairing extends RepairOptions {
  readonly strict: ReadonlyMap<string, FunctionTool>;
}

async function* untilSound(
  first: Plan,
  request: TurnRequest,
  [signal, onSettled]: Parameters<Plan['run']>,
  options: Repairing,
): AsyncGenerator<TurnEvent> {
  const ids = new Set<string>();
  /** What was said since: the answers that went wrong, and what the model was told of them. */
  const since: Item[] = [];
  let plan = first;
  let spent: Usage | null = null;
  const counted = (event: TurnEvent): TurnEvent =>
    event.type === 'turn-ended' ? { ...event, usage: addUsage(spent, event.usage) } : event;
  /** The one before, in case that this one comes to nothing. */
  let last: Attempt | null = null;
  for (let left = options.attempts; ; left -= 1) {
    const settling = new Settling(onSettled);
    const attempt: Attempt = new Attempt(options.holds, last === null);
    try {
      for await (const event of withOwnIds(plan.run(signal, settling.settle), ids)) {
        for (const told of attempt.take(event)) yield counted(told);
      }
    } catch (error) {
      if (last === null || signal.aborted || !(error instanceof GatewayError)) throw error;
    }
    const problems = attempt.isSound ? await problemsIn(attempt.reply, options) : NONE;
    if (problems.size > 0 && left > 0) {
      const { items, usage } = attempt.reply;
      spent = addUsage(spent, usage);
      append(since, items);
      append(since, outputsOf(items, problems));
      plan = options.plan({ ...request, items: [...request.items, ...since] });
      last = attempt;
      continue;
    }
    const isLost = last !== null && !attempt.isSound && !attempt.isUnchecked;
    if (isLost || problems.size > 0) options.onRepair('passed_on');
    else if (last !== null && !attempt.isUnchecked) options.onRepair('repaired');
    settling.isLast();
    if (isLost) spent = addUsage(spent, attempt.usage);
    for (const event of isLost && last !== null ? last.ending(spent) : attempt.held.map(counted)) {
      // All that was held back comes at once.
      await yieldToLoop(signal);
      yield event;
    }
    return;
  }
}

/** What is held back of a stream; beyond this it is told unchecked. */
const MAX_HELD_BYTES = 1024 * 1024;

/** One answer of the model, and how much of it is held back. */
class Attempt {
  readonly #holds: RepairOptions['holds'];
  readonly #isFirst: boolean;
  readonly #all = new Accumulator();
  #hasCall = false;
  #hasEnded = false;
  #bytes = 0;
  /** Items of which the client knows: they are told to their end, whatever becomes of the calls beside them. */
  readonly #told = new Set<string>();
  held: TurnEvent[] = [];
  isUnchecked = false;

  constructor(holds: RepairOptions['holds'], isFirst: boolean) {
    this.#holds = holds;
    this.#isFirst = isFirst;
  }

  /** It came to an end by which the client has its answer. */
  get isSound(): boolean {
    if (!this.#hasEnded || this.isUnchecked) return false;
    const { kind } = this.reply.outcome;
    return kind === 'tool-calls' || kind === 'completed';
  }

  get reply(): Reply {
    return this.#all.reply();
  }

  get usage(): Usage | null {
    return this.#hasEnded ? this.reply.usage : null;
  }

  /** The rest of this answer, if another one that should have been better took so much in vain. */
  ending(spent: Usage | null): readonly TurnEvent[] {
    return this.held.map((event) => (event.type === 'turn-ended' ? { ...event, usage: spent } : event));
  }

  /** What may be told after this event. */
  take(event: TurnEvent): readonly TurnEvent[] {
    this.#all.add(event);
    if (event.type === 'turn-accepted') return this.#isFirst ? [event] : [];
    if (this.isUnchecked || this.#told.has(itemIdOf(event) ?? '')) return [event];
    this.#hasEnded ||= event.type === 'turn-ended';
    const before = this.#mayTell(event) ? this.held.splice(0) : [];
    if (!this.#isHeld(event)) return this.#tell([...before, event]);
    this.held.push(event);
    this.#bytes += bytesOf(event);
    this.isUnchecked = this.#holds === 'calls' && this.#bytes > MAX_HELD_BYTES;
    return this.isUnchecked ? this.held.splice(0) : this.#tell(before);
  }

  #tell(events: readonly TurnEvent[]): readonly TurnEvent[] {
    for (const event of events) if (event.type === 'item-started') this.#told.add(event.item.id);
    return events;
  }

  /**
   * Reasoning in a stream waits for what it led to: that of a call that is not told must not be told either,
   * because a backend refuses reasoning which nothing follows.
   */
  #mayTell(event: TurnEvent): boolean {
    if (event.type !== 'item-started' || this.#holds === 'answer') return false;
    this.#hasCall ||= event.item.kind === 'tool-call';
    return !this.#hasCall && event.item.kind !== 'reasoning';
  }

  #isHeld(event: TurnEvent): boolean {
    if (this.#holds === 'answer' || this.#hasCall || this.held.length > 0) return true;
    return event.type === 'turn-ended' || (event.type === 'item-started' && event.item.kind === 'reasoning');
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

/** A check takes a moment, or its deadline where somebody wrote a schema for that; and there may be thousands of calls. */
const MAX_CHECK_MS = 5_000;

/** By the id of the call, what is wrong with it, as far as there is time to look. */
const problemsIn = async (
  { items }: Reply,
  { strict, check }: Repairing,
): Promise<ReadonlyMap<string, string>> => {
  const problems = new Map<string, string>();
  let isLate = false;
  const looking = async (): Promise<true> => {
    for (const item of items) {
      if (isLate) break;
      if (item.kind !== 'tool-call' || item.tool !== 'function' || item.namespace !== undefined) continue;
      const tool = strict.get(item.name);
      const problem = tool === undefined ? null : await check(tool, item.input);
      if (problem !== null && !isLate) problems.set(item.callId, problem);
    }
    return true;
  };
  isLate = (await within(looking(), MAX_CHECK_MS)) === null;
  return problems;
};

const NOT_RUN = 'This call was not made, because another one in the same answer has invalid arguments.';

/** A call without an output would be no conversation, so each gets one. */
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

/** Items of a further answer may have ids that the client knows already. */
async function* withOwnIds(events: AsyncIterable<TurnEvent>, known: Set<string>): AsyncGenerator<TurnEvent> {
  const own = new Map<string, string>();
  for await (const event of events) {
    const id = itemIdOf(event);
    if (id === null) yield event;
    else {
      const other = own.get(id) ?? freshId(id, known);
      own.set(id, other);
      yield other === id ? event : withId(event, other);
    }
  }
}

const freshId = (id: string, known: Set<string>): string => {
  let fresh = id;
  for (let nth = 2; known.has(fresh); nth += 1) fresh = `${id}_${nth}`;
  known.add(fresh);
  return fresh;
};

const withId = (event: TurnEvent, id: string): TurnEvent => {
  if (event.type === 'item-started' || event.type === 'item-ended') {
    return { ...event, item: { ...event.item, id } };
  }
  return event.type === 'item-delta' || event.type === 'item-status' ? { ...event, itemId: id } : event;
};
