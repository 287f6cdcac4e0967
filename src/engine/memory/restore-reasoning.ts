import { itemFacts } from '../../canonical/request/item-facts.ts';
import {
  isMessage,
  isModelOutput,
  isReasoning,
  isToolCall,
  hasNoContent,
  type Item,
  type Produced,
  type Reasoning,
} from '../../canonical/request/item.ts';
import { isUsableReasoning, wholeHistory, type History } from '../../codex/translate/fit-history.ts';
import { isJsonObject } from '../../kit/json/json.ts';

/**
 * Whether the arguments that a client sent back are those of the model. The client may have added members, such as
 * defaults, but has changed and removed none.
 */
export const hasSameArguments = (sent: string, own: string): boolean => {
  try {
    return contains(JSON.parse(sent), JSON.parse(own));
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
};

/** As deep as both values are, and the depth of a client's body is limited. */
const contains = (sent: unknown, own: unknown): boolean => {
  if (Array.isArray(own)) {
    return (
      Array.isArray(sent) &&
      sent.length === own.length &&
      own.every((value, index) => contains(sent[index], value))
    );
  }
  if (!isJsonObject(own)) return sent === own;
  if (!isJsonObject(sent)) return false;
  return Object.entries(own).every(([key, value]) => Object.hasOwn(sent, key) && contains(sent[key], value));
};

/** An item of an answer up to its last call. Only reasoning is kept whole. */
export type AnswerStep =
  | { readonly kind: 'reasoning'; readonly reasoning: Reasoning }
  | { readonly kind: 'message' }
  /** `input`: its arguments, if the client sends them back in another form. */
  | { readonly kind: 'call'; readonly callId: string; readonly input?: string }
  | { readonly kind: 'other'; readonly id: string };

/** What is remembered of an answer that called tools. */
export interface CallingAnswer {
  readonly steps: readonly AnswerStep[];
  /** The index of each call among the steps, by call id. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Null: the answer has nothing to remember: no reasoning before a call and, without `keepsInput`, no arguments. */
export const callingAnswerOf = (answer: readonly Produced[], keepsInput: boolean): CallingAnswer | null => {
  const last = answer.findLastIndex((item) => isToolCall(item));
  const steps = answer.slice(0, last + 1).flatMap((item) => stepOf(item, keepsInput));
  if (!steps.some((step) => step.kind === 'reasoning' || 'input' in step)) return null;
  const calls = steps.flatMap((step, at) => (step.kind === 'call' ? [[step.callId, at] as const] : []));
  return { steps, calls: new Map(calls) };
};

const stepOf = (item: Produced, keepsInput: boolean): readonly AnswerStep[] => {
  if (isReasoning(item)) {
    const { status: _, ...reasoning } = item;
    return isUsableReasoning(item) ? [{ kind: 'reasoning', reasoning }] : [];
  }
  if (isToolCall(item)) {
    const { callId, input } = item;
    return [{ kind: 'call', callId, ...(keepsInput && item.tool === 'function' ? { input } : {}) }];
  }
  // Clients do not send an empty message back.
  if (isMessage(item)) return hasNoContent(item.parts) ? [] : [{ kind: 'message' }];
  return [{ kind: 'other', id: item.id }];
};

/** The answer that made a call. */
export type FindAnswer = (call: SentCall) => CallingAnswer | null;

/** A call that the client sent. */
export interface SentCall {
  readonly callId: string;
  /** The last item before the answer. */
  readonly asked: Item | undefined;
  /** Whether the client sent readable reasoning with it. */
  readonly hasReasoning: boolean;
}

/** The last item before the answer to this conversation. */
export const lastAsked = (items: readonly Item[]): Item | undefined =>
  items.findLast((item) => !isOfAnswer(item));

const isOfAnswer = (item: Item): boolean => isModelOutput(item) || isReasoning(item);

/**
 * Restores reasoning that the client did not send: before the message or the call that followed it. Does not change the
 * reasoning of an answer of which the client sent some that is readable. Restores the text of arguments, too.
 */
export const restoreReasoning = (items: readonly Item[], find: FindAnswer): History => {
  if (!itemFacts(items).hasCall) return wholeHistory(items);
  const restoring = new Restoring(items);
  const found: { readonly answer: CallingAnswer; readonly call: FoundCall; readonly from: number }[] = [];
  const complete = new Set<CallingAnswer>();
  for (const { start, calls, hasReasoning } of runsOf(items)) {
    let from = start;
    for (const call of calls) {
      const answer = find({ callId: call.callId, asked: items[start - 1], hasReasoning });
      if (answer !== null) {
        found.push({ answer, call, from });
        restoring.restoreInput(answer, call);
      }
      // Calls of one answer may be apart, each followed by its output.
      if (answer !== null && hasReasoning) complete.add(answer);
      from = call.index + 1;
    }
  }
  for (const { answer, call, from } of found) {
    if (!complete.has(answer)) restoring.place(answer, call, from);
  }
  return restoring.history();
};

interface FoundCall {
  readonly callId: string;
  readonly index: number;
}

/** Adjacent items of the model. */
interface Run {
  readonly start: number;
  readonly calls: FoundCall[];
  /** Whether it has readable reasoning. */
  hasReasoning: boolean;
}

const runsOf = (items: readonly Item[]): readonly Run[] => {
  const runs: Run[] = [];
  let open: Run | null = null;
  for (const [index, item] of items.entries()) {
    if (!isOfAnswer(item)) {
      open = null;
      continue;
    }
    if (open === null) runs.push((open = { start: index, calls: [], hasReasoning: false }));
    if (isToolCall(item)) open.calls.push({ callId: item.callId, index });
    if (isReasoning(item) && isUsableReasoning(item)) open.hasReasoning = true;
  }
  return runs;
};

/**
 * Characters of rewritten arguments that are compared in one conversation, the oldest first: more than a context window has.
 * Comparing takes time in which no other request is served.
 */
const MAX_COMPARED = 2_000_000;

/** Finds the places of reasoning in a conversation. */
class Restoring {
  readonly #items: readonly Item[];
  /** By the index of the item that it precedes, the last first. */
  readonly #before = new Map<number, Reasoning[]>();
  /** Replacements of incomplete reasoning and of rewritten calls. */
  readonly #instead = new Map<number, Item>();
  /** Characters of arguments that may still be compared. */
  #comparable = MAX_COMPARED;
  /** How many steps of an answer are placed: each is placed once. */
  readonly #done = new Map<CallingAnswer, number>();

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /** Goes back from a call to `from`, and through the steps of the answer at the same time. */
  place(answer: CallingAnswer, { callId, index }: FoundCall, from: number): void {
    const end = answer.calls.get(callId) ?? -1;
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

  /** The call with the model's own text of its arguments, unless the client changed their values. */
  restoreInput(answer: CallingAnswer, { callId, index }: FoundCall): void {
    const step = answer.steps[answer.calls.get(callId) ?? -1];
    const sent = this.#items[index];
    if (step?.kind !== 'call' || step.input === undefined || sent?.kind !== 'tool-call') return;
    const { input } = step;
    if (sent.input === input) return;
    this.#comparable -= sent.input.length;
    if (this.#comparable < 0) return;
    if (hasSameArguments(sent.input, input)) this.#instead.set(index, { ...sent, input });
  }

  history(): History {
    if (this.#before.size === 0 && this.#instead.size === 0) return wholeHistory(this.#items);
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

  /** The indices of reasoning of which the client sent only an id and a summary, by id. */
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

  /** The index of this step, if the client sent it, else `target`: then reasoning before it goes to the next step. */
  #stepBack(step: AnswerStep, target: number, from: number): number {
    let at = target - 1;
    while (at >= from && this.#items[at]?.kind === 'reasoning') at -= 1;
    const item = at >= from ? this.#items[at] : undefined;
    if (item === undefined) return target;
    const isStep = step.kind === 'message' ? isMessage(item) : step.kind === 'other' && item.id === step.id;
    return isStep ? at : target;
  }
}
