import { failure } from '../../canonical/failure/failure.ts';
import { meetsChoice } from '../../canonical/request/forced-choice.ts';
import { wordsOf, type Produced } from '../../canonical/request/item.ts';
import { isForced, type ToolChoice } from '../../canonical/request/tool.ts';
import { itemIdOf, type TurnEvent } from '../../canonical/events/turn-event.ts';
import { addUsage, type Usage } from '../../canonical/events/usage.ts';
import type { Clock } from '../../kit/ambient.ts';
import { yieldToLoop } from '../../kit/async/event-loop.ts';
import type { Engine, Plan } from '../engine.ts';
import { bytesOf } from '../attempt/mailbox.ts';
import { Settling } from './settling.ts';

/** Whoever writes more than this before its call makes none. A long thought in small pieces is some megabytes. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;

/**
 * A call that must come comes, or the turn fails. Backends ignore such a choice, or cannot be told: so the
 * beginning of an answer is held back until the call begins. Until then nothing is told, not even that the
 * turn was accepted. An answer without the call is seen by nobody and made once more.
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

/** A tool that the backend runs is the backend's to call: who names it knows what it is without. */
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
    const beginning = new Beginning(meets);
    for await (const event of run(signal, settling.settle)) {
      const told = beginning.take(event);
      if (beginning.isOver) settling.isLast();
      for (const one of told) {
        // All that was held back comes at once.
        await yieldToLoop(signal);
        yield one.type === 'turn-ended' ? { ...one, usage: addUsage(spent, one.usage) } : one;
      }
      if (beginning.isTooLong) break;
    }
    if (beginning.isOver) return;
    spent = addUsage(spent, beginning.usage);
  }
  const outcome = { kind: 'failed', failure: failure('tool_choice_not_satisfied') } as const;
  yield { type: 'turn-ended', outcome, usage: spent, at: clock.now() };
}

/** The events of a turn up to the call that must come. */
class Beginning {
  readonly #meets: (item: Produced) => boolean;
  /** Calls of other tools: the client has ruled them out. */
  readonly #unwanted = new Set<string>();
  #held: TurnEvent[] = [];
  #bytes = 0;
  #refuses = false;
  isOver = false;
  usage: Usage | null = null;

  constructor(meets: (item: Produced) => boolean) {
    this.#meets = meets;
  }

  get isTooLong(): boolean {
    return !this.isOver && this.#bytes > MAX_HELD_BYTES;
  }

  /** What the client may be told after this event. */
  take(event: TurnEvent): readonly TurnEvent[] {
    if (this.#isUnwanted(event)) return [];
    if (this.isOver) return [event];
    this.#held.push(event);
    this.#bytes += bytesOf(event);
    if (event.type === 'turn-ended') this.usage = event.usage;
    this.isOver = this.#isDecisive(event);
    return this.isOver ? this.#held.splice(0) : [];
  }

  #isUnwanted(event: TurnEvent): boolean {
    const itemId = itemIdOf(event);
    if (itemId === null) return false;
    const isOther =
      event.type === 'item-started' && event.item.kind === 'tool-call' && !this.#meets(event.item);
    if (isOther) this.#unwanted.add(itemId);
    return this.#unwanted.has(itemId);
  }

  /** The call begins; or the turn ends in a way that another attempt would not mend, such as a refusal. */
  #isDecisive(event: TurnEvent): boolean {
    if (event.type === 'item-started') return this.#meets(event.item);
    if (event.type === 'item-ended') {
      this.#refuses ||= event.item.kind === 'message' && wordsOf(event.item, 'refusal') !== '';
    }
    if (event.type !== 'turn-ended') return false;
    return this.#refuses || event.outcome.kind === 'failed' || event.outcome.kind === 'incomplete';
  }
}
