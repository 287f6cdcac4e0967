import type { TurnSteering, TurnContext } from '../../canonical/context/turn-context.ts';
import { Accumulator } from '../../canonical/events/accumulate.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import { failureOf, GatewayError, gatewayError } from '../../canonical/failure/failure.ts';
import { isReasoning, isToolCall, type Item, type Produced } from '../../canonical/request/item.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { Clock } from '../../kit/ambient.ts';
import { firstAborted } from '../../kit/async/wait.ts';
import { append } from '../../kit/collections/lists.ts';
import { isClientCall } from '../../canonical/request/tool.ts';
import { countUsage, type CountContext } from '../count-tokens.ts';
import type { Plan } from '../engine.ts';
import { FreshIds, Settling, type Step } from './step.ts';

/** Ends answers whose client has more to say. */
export const endSteered: Step<{ readonly clock: Clock }> = {
  name: 'end-steered',
  why: '`response.steer` of a WebSocket: the answer ends between two items, and another one continues it with the new input. Inside the count, because the upstream never reports the usage of such an answer.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const plan = next(request, context);
      const { isSteered } = context;
      if (isSteered === undefined) return plan;
      return { ...plan, run: (...how) => untilSteered(plan.run(...how), isSteered, clock) };
    },
};

/**
 * Ends in place of the next item. An item that has begun is finished, and after a call that the client has to answer the
 * model ends by itself. Leaving the source early interrupts the turn.
 */
async function* untilSteered(
  events: AsyncIterable<TurnEvent>,
  isSteered: () => boolean,
  clock: Clock,
): AsyncGenerator<TurnEvent> {
  let open = 0;
  let hasCalls = false;
  for await (const event of events) {
    if (event.type === 'item-started') {
      if (open === 0 && !hasCalls && isSteered()) {
        const outcome = { kind: 'incomplete', reason: 'steered' } as const;
        yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
        return;
      }
      open += 1;
      hasCalls ||= isForClient(event.item);
    } else if (event.type === 'item-ended') open -= 1;
    yield event;
  }
}

/** Whether it is a call that the client has to answer. */
const isForClient = (item: Produced): boolean =>
  isToolCall(item) || ('raw' in item && isClientCall(item.raw.type));

interface SteeredDeps {
  readonly tokenizer: CountContext['tokenizer'];
  readonly clock: Clock;
}

/** Interrupts the model when its client has more to say, and asks it again in the same answer. */
export const continueSteered: Step<SteeredDeps> = {
  name: 'continue-steered',
  why: '`POST /v1/responses/{id}/steer`: the model is interrupted and asked again, with what it has completed and the new input. Around the count and whatever else may end an answer, because each part of the answer is a turn of its own.',
  wrap: (next, deps) => (request, context) => {
    const plan = next(request, context);
    const { steering } = context;
    // The reviewer has a conversation of its own.
    if (steering === undefined || request.isReview === true) return plan;
    const planNext = (again: TurnRequest): Plan => next(again, context);
    return {
      ...plan,
      run: (...how) => inParts(plan, request, how, { ...deps, context, steering, planNext }),
    };
  },
};

interface SteeredRun extends SteeredDeps {
  readonly context: TurnContext;
  readonly steering: TurnSteering;
  readonly planNext: (request: TurnRequest) => Plan;
}

async function* inParts(
  first: Plan,
  request: TurnRequest,
  [signal, onSettled]: Parameters<Plan['run']>,
  { context, steering, planNext, tokenizer, clock }: SteeredRun,
): AsyncGenerator<TurnEvent> {
  const { budget, caller } = context;
  const ids = new FreshIds();
  /** What the parts before have used; null: it could not be counted. */
  const used: Promise<Usage | null>[] = [];
  /** The complete items of the answer, and what the client has said. */
  const since: Item[] = [];
  let asked = request;
  let plan = first;
  let part = new Part(false);
  const close = steering.listen({
    refusal: () => part.refusal ?? (budget.isLimitReached ? atLimit(budget.used) : null),
    onInput: () => part.interrupt(),
  });
  const spent = async (): Promise<Usage | null> => (await Promise.all(used)).reduce(addUsage, null);
  try {
    for (let isFirst = true; ; isFirst = false) {
      const requestsBefore = budget.used;
      const settling = new Settling(onSettled);
      // The model has ended. Without input it is not asked again: its slot is free, although the client may still read.
      const settle = (): void => {
        if (!steering.hasInput()) {
          close();
          settling.markLast();
        }
        settling.settle();
      };
      const either = firstAborted(signal, part.signal);
      let reported: Usage | null = null;
      try {
        ids.nextAnswer();
        for await (const received of plan.run(either, settle)) {
          const event = ids.rename(received);
          if (event.type === 'turn-ended') {
            reported = event.usage;
            if (event.outcome.kind === 'completed' && steering.hasInput() && part.refusal === null) break;
            close();
            settling.markLast();
            yield { ...event, usage: addUsage(await spent(), event.usage) };
            return;
          }
          if (event.type === 'item-started' && steering.hasInput() && part.isInterruptedBy(event)) break;
          part.add(event);
          // The client has one head for all parts.
          if (isFirst || event.type !== 'turn-accepted') yield event;
          if (steering.hasInput() && part.canBeInterrupted) break;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        if (!part.signal.aborted) {
          if (isFirst || !(error instanceof GatewayError)) throw error;
          close();
          settling.markLast();
          const outcome = { kind: 'failed', failure: failureOf(error) } as const;
          yield { type: 'turn-ended', outcome, usage: await spent(), at: clock.now() };
          return;
        }
      }
      yield* part.end();
      // The model is asked at once, not after the count.
      const counting = { tokenizer, clock, caller: caller.keyId, signal: NEVER };
      const usage =
        reported === null
          ? countPart(asked, part.items, counting, budget.used - requestsBefore)
          : Promise.resolve(reported);
      used.push(usage);
      append(since, completeItems(part.items));
      append(since, steering.take(usage).map(messageOf));
      asked = { ...request, items: [...request.items, ...since] };
      plan = planNext(asked);
      part = new Part(true);
    }
  } finally {
    close();
  }
}

/** The answer to one model request, or to several that the app-server made for tools. */
class Part {
  readonly #all = new Accumulator();
  readonly #left = new AbortController();
  /** Whether the client may speak before the model answers, because it has spoken before. */
  readonly #isLater: boolean;
  /** Items in progress; true: text, which can be cut. */
  readonly #open = new Map<string, boolean>();
  #isAccepted = false;
  #hasCalls = false;
  readonly items: Produced[] = [];

  constructor(isLater: boolean) {
    this.#isLater = isLater;
  }

  get signal(): AbortSignal {
    return this.#left.signal;
  }

  /** After a call that the client has to answer, it has the next word anyway. */
  get refusal(): GatewayError | null {
    return this.#hasCalls || !(this.#isAccepted || this.#isLater)
      ? gatewayError('response_not_steerable')
      : null;
  }

  /** A tool that runs is not interrupted. */
  get canBeInterrupted(): boolean {
    return this.#isAccepted && !this.#hasCalls && this.#open.values().every(Boolean);
  }

  interrupt(): void {
    if (this.canBeInterrupted) this.#left.abort(INTERRUPTED);
  }

  /** The model would give the next word to its client, who has spoken already. */
  isInterruptedBy(event: TurnEvent): boolean {
    return event.type === 'item-started' && !this.#hasCalls && isForClient(event.item);
  }

  add(event: TurnEvent): void {
    this.#all.add(event);
    this.#isAccepted = true;
    if (event.type === 'item-started') {
      const { id, kind } = event.item;
      this.#open.set(id, kind === 'message' || kind === 'reasoning');
      this.#hasCalls ||= isForClient(event.item);
    } else if (event.type === 'item-ended') {
      this.#open.delete(event.item.id);
      this.items.push(event.item);
    }
  }

  /** Ends the items that are open. */
  *end(): Generator<TurnEvent> {
    for (const event of this.#all.endOpen('incomplete', { isCut: true })) {
      this.items.push(event.item);
      yield event;
    }
  }
}

/** One for all, because an abort without a reason creates an error with a stack. */
const INTERRUPTED = new DOMException('the client has steered the answer', 'AbortError');
/** A count ends by itself after some seconds. */
const NEVER = new AbortController().signal;

/** Every model request reads the input. Null if the tokenizer fails. */
const countPart = async (
  request: TurnRequest,
  items: readonly Produced[],
  counting: CountContext,
  requests: number,
): Promise<Usage | null> => {
  const usage = await countUsage(request, items, counting).catch(() => null);
  if (usage === null || requests <= 1) return usage;
  const inputTokens = usage.inputTokens * requests;
  return { ...usage, inputTokens, totalTokens: inputTokens + usage.outputTokens };
};

/** What the model sees of its answer: complete items only. Backends reject reasoning that nothing follows. */
const completeItems = (items: readonly Produced[]): readonly Item[] => {
  const complete = items.filter((item) => !('status' in item) || item.status !== 'incomplete');
  return complete.slice(0, complete.findLastIndex((item) => !isReasoning(item)) + 1);
};

const messageOf = (texts: readonly string[]): Item => ({
  kind: 'message',
  role: 'user',
  parts: texts.map((text) => ({ kind: 'text', text })),
});

const atLimit = (requests: number): GatewayError =>
  gatewayError('response_not_steerable', {
    message: `This response has reached the limit of ${requests} model requests (PROXY_MAX_MODEL_REQUESTS).`,
  });
