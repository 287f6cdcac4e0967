import {
  isMessage,
  isModelOutput,
  isReasoning,
  isToolCall,
  hasNoContent,
  type Item,
  type Produced,
  type Reasoning,
  type ToolCall,
} from '../../canonical/request/item.ts';
import { isUsableReasoning, type History } from '../../codex/translate/fit-history.ts';

/** What stood in an answer up to its last call: reasoning whole, and of the rest only what it was. */
export type AnswerStep =
  | { readonly kind: 'reasoning'; readonly reasoning: Reasoning }
  | { readonly kind: 'message' }
  | { readonly kind: 'call'; readonly callId: string }
  | { readonly kind: 'other'; readonly id: string };

/** An answer that called tools, as far as it is remembered. */
export interface CallingAnswer {
  readonly steps: readonly AnswerStep[];
  /** Where the calls stand among the steps. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Null: there is nothing in it that a client could lose. */
export const callingAnswerOf = (answer: readonly Produced[]): CallingAnswer | null => {
  const last = answer.findLastIndex((item) => isToolCall(item));
  const steps = answer.slice(0, last + 1).flatMap(stepOf);
  if (!steps.some(({ kind }) => kind === 'reasoning')) return null;
  const calls = steps.flatMap((step, at) => (step.kind === 'call' ? [[step.callId, at] as const] : []));
  return { steps, calls: new Map(calls) };
};

const stepOf = (item: Produced): readonly AnswerStep[] => {
  if (isReasoning(item)) {
    const { status: _, ...reasoning } = item;
    return isUsableReasoning(item) ? [{ kind: 'reasoning', reasoning }] : [];
  }
  if (isToolCall(item)) return [{ kind: 'call', callId: item.callId }];
  // A message without words does not come back.
  if (isMessage(item)) return hasNoContent(item.parts) ? [] : [{ kind: 'message' }];
  return [{ kind: 'other', id: item.id }];
};

/** The answer that made a call; `asked` is the last thing that it was an answer to. */
export type FindAnswer = (callId: string, asked: Item | undefined) => CallingAnswer | null;

/** The last thing that an answer to this conversation is an answer to. */
export const lastAsked = (items: readonly Item[]): Item | undefined =>
  items.findLast((item) => !isOfAnswer(item));

/** Whether it is part of an answer of the model's. */
const isOfAnswer = (item: Item): boolean => isModelOutput(item) || isReasoning(item);

/**
 * Puts reasoning that the client did not send back where the model had it: in front of the message or
 * the call that followed it. An answer of which the client sent reasoning that can be read is left as it is.
 */
export const restoreReasoning = (items: readonly Item[], find: FindAnswer): History => {
  const restoring = new Restoring(items);
  const answers = new Map<Answered, CallingAnswer>();
  const own = new Set<CallingAnswer>();
  const runs = runsOf(items);
  for (const run of runs) {
    for (const call of run.calls) {
      const answer = find(call.item.callId, items[run.start - 1]);
      if (answer === null) continue;
      answers.set(call, answer);
      // Calls of one answer may stand apart, each with its output.
      if (run.hasReasoning) own.add(answer);
    }
  }
  for (const run of runs) {
    let from = run.start;
    for (const call of run.calls) {
      const answer = answers.get(call);
      if (answer !== undefined && !own.has(answer)) restoring.place(answer, call, from);
      from = call.index + 1;
    }
  }
  return restoring.history();
};

interface Answered {
  readonly item: ToolCall;
  readonly index: number;
}

/** What the model said and did without anybody else in between. */
interface Run {
  readonly start: number;
  readonly calls: readonly Answered[];
  /** Whether some of it is reasoning that can be read. */
  readonly hasReasoning: boolean;
}

const runsOf = (items: readonly Item[]): readonly Run[] => {
  const runs: { start: number; calls: Answered[]; hasReasoning: boolean }[] = [];
  let open: (typeof runs)[number] | null = null;
  for (const [index, item] of items.entries()) {
    if (!isOfAnswer(item)) {
      open = null;
      continue;
    }
    if (open === null) runs.push((open = { start: index, calls: [], hasReasoning: false }));
    if (isToolCall(item)) open.calls.push({ item, index });
    if (isReasoning(item) && isUsableReasoning(item)) open.hasReasoning = true;
  }
  return runs;
};

/** Where reasoning goes into a conversation. */
class Restoring {
  readonly #items: readonly Item[];
  /** By the place that it goes before, the last first. */
  readonly #before = new Map<number, Reasoning[]>();
  /** In the place of what the client sent of it. */
  readonly #instead = new Map<number, Reasoning>();
  /** How many steps of an answer are where they belong: no call gets what another one got. */
  readonly #done = new Map<CallingAnswer, number>();

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /** Goes back from a call to the one before it, and through the answer beside it. */
  place(answer: CallingAnswer, { item: call, index }: Answered, from: number): void {
    const end = answer.calls.get(call.callId) ?? -1;
    const start = this.#done.get(answer) ?? 0;
    if (end < start) return;
    this.#done.set(answer, end + 1);
    const lost = this.#lost(from, index);
    let target = index;
    for (const step of answer.steps.slice(start, end).toReversed()) {
      if (step.kind === 'reasoning') this.#put(step.reasoning, target, lost);
      else target = this.#stepBack(step, target, from);
    }
  }

  history(): History {
    const items: Item[] = [];
    const places: (number | null)[] = [];
    for (const [index, item] of this.#items.entries()) {
      for (const reasoning of (this.#before.get(index) ?? []).toReversed()) {
        items.push(reasoning);
        places.push(null);
      }
      items.push(this.#instead.get(index) ?? item);
      places.push(index);
    }
    return { items, places };
  }

  /** Reasoning of which the client sent an id and a summary only, by its id. */
  #lost(from: number, to: number): ReadonlyMap<string, number> {
    const lost = this.#items
      .slice(from, to)
      .flatMap((item, at) =>
        isReasoning(item) && item.id !== undefined ? [[item.id, from + at] as const] : [],
      );
    return new Map(lost);
  }

  #put(reasoning: Reasoning, target: number, lost: ReadonlyMap<string, number>): void {
    const sent = reasoning.id === undefined ? undefined : lost.get(reasoning.id);
    const before = this.#before.get(target);
    if (sent !== undefined) this.#instead.set(sent, reasoning);
    else if (before === undefined) this.#before.set(target, [reasoning]);
    else before.push(reasoning);
  }

  /** The place of this step, if the client sent it; else what led to it leads to the next one. */
  #stepBack(step: AnswerStep, target: number, from: number): number {
    let at = target - 1;
    while (at >= from && isReasoningAt(this.#items, at)) at -= 1;
    const item = at >= from ? this.#items[at] : undefined;
    if (item === undefined) return target;
    const isStep = step.kind === 'message' ? isMessage(item) : step.kind === 'other' && item.id === step.id;
    return isStep ? at : target;
  }
}

const isReasoningAt = (items: readonly Item[], at: number): boolean => {
  const item = items[at];
  return item !== undefined && isReasoning(item);
};
