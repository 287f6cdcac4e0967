import type { Item, Part, Produced } from '../../canonical/request/item.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { wholeHistory, type History } from '../../codex/translate/fit-history.ts';
import type { Clock } from '../../kit/ambient.ts';
import { isRandomId } from '../../kit/text/patterns.ts';
import { bytesOfText, FairCache, type CacheEntry } from '../../kit/collections/fair-budget.ts';
import type { Refusals } from '../../codex/capabilities/refusals.ts';
import { isUnreadable } from '../plan/request-strategies.ts';
import {
  callingAnswerOf,
  lastAsked,
  restoreReasoning,
  type CallingAnswer,
  type AnswerStep,
  type SentCall,
} from './restore-reasoning.ts';

/**
 * Keeps remembered answers for other instances and for the time after a restart. Losing one costs quality, never content, so
 * nothing here fails, and only `load` is waited for, for a moment at most.
 */
export interface SharedReasoning {
  /** The known answers. The same object for all keys of one answer. */
  load(keys: readonly string[]): Promise<ReadonlyMap<string, CallingAnswer>>;
  save(keys: readonly string[], answer: CallingAnswer): void;
  /** The answer was needed, so it lives longer. */
  renew(keys: readonly string[], answer: CallingAnswer): void;
  drop(keys: readonly string[]): void;
}

export interface ReasoningMemoryOptions {
  /** 0: nothing is remembered. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
  /** Absent: nothing is known after a restart, or on another instance. */
  readonly shared?: SharedReasoning;
}

/** A conversation with the reasoning that its client left out, and with the model's own text of arguments. */
export interface RecalledHistory {
  readonly history: History;
  /** Keys of calls with something to restore that only another instance may remember. */
  readonly missing: readonly string[];
}

/** The memory for one backend: reasoning is encrypted, and only its backend can read it. */
export interface BackendMemory {
  /** Remembers an answer with tool calls to this request. */
  remember(turn: Turn, answer: readonly Produced[]): void;
  recall(turn: Turn): RecalledHistory;
  /** Whether a request can be recalled better now. Waits for a moment at most. */
  load(turn: Turn, missing: RecalledHistory['missing']): Promise<boolean>;
  /** The backend rejected this request, and accepted it without the recalled reasoning. */
  refused(turn: Turn, refusal: Failure): void;
}

/** Since the last request that needed it. */
export const REMEMBERED_FOR_MS = 60 * 60_000;
/** The memory of a map, its keys and its objects, roughly. */
const ANSWER_BYTES = 400;
const STEP_BYTES = 200;
/** The newest calls of a conversation. */
const MAX_LOADED = 200;

/**
 * Remembers the reasoning of answers that called tools, because Chat clients cannot send it back, and others do not; and
 * the text of arguments, for clients that send them back parsed. By call id, separately for each caller and model.
 */
export class ReasoningMemory {
  readonly #options: ReasoningMemoryOptions;
  readonly #answers: FairCache<CallingAnswer>;

  constructor(options: ReasoningMemoryOptions) {
    this.#options = options;
    this.#answers = new FairCache({ ...options, maxAgeMs: REMEMBERED_FOR_MS });
  }

  get bytes(): number {
    return this.#answers.bytes;
  }

  /** `backend`: the same for as long as it is the same backend with the same account, on every instance. */
  of(backend: string, refusals: Refusals): BackendMemory {
    return new RememberedOfBackend(this.#answers, { ...this.#options, backend, refusals });
  }
}

interface OfBackend extends ReasoningMemoryOptions {
  readonly backend: string;
  readonly refusals: Refusals;
}

class RememberedOfBackend implements BackendMemory {
  readonly #answers: FairCache<CallingAnswer>;
  readonly #options: OfBackend;

  constructor(answers: FairCache<CallingAnswer>, options: OfBackend) {
    this.#answers = answers;
    this.#options = options;
  }

  remember(turn: Turn, items: readonly Produced[]): void {
    const { shared } = this.#options;
    const asked = lastAsked(turn.request.items);
    const calls = items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : []));
    const keys = calls.map((callId) => this.#keyOf(turn, { callId, asked }));
    const answer = callingAnswerOf(items, turn.request.parsesArguments === true);
    if (answer !== null) {
      if (this.#add(turn, keys, answer) && turn.context.isUnstored !== true) shared?.save(keys, answer);
      return;
    }
    // An id that is used again means its newest call, even one with nothing to remember.
    shared?.drop(
      keys.filter((key, at) => this.#answers.get(key) !== undefined || !isRandomId(calls[at] ?? '')),
    );
    for (const key of keys) this.#answers.drop(key);
    this.#answers.settle();
  }

  recall(turn: Turn): RecalledHistory {
    const { maxBytes, shared, refusals } = this.#options;
    const { items, parsesArguments } = turn.request;
    this.#answers.settle();
    const isOff = maxBytes === 0 || (this.#answers.isEmpty && shared === undefined);
    if (isOff || refusals.has(turn, 'recalled reasoning'))
      return { history: wholeHistory(items), missing: [] };
    const needed = new Map<string, CacheEntry<CallingAnswer>>();
    const missing: string[] = [];
    const history = restoreReasoning(items, (call) => {
      const key = this.#keyOf(turn, call);
      const found = this.#answers.get(key);
      if (found !== undefined) needed.set(key, found);
      else if (shared !== undefined && (!call.hasReasoning || parsesArguments === true)) missing.push(key);
      return found?.value ?? null;
    });
    for (const key of needed.keys()) this.#answers.renew(key);
    if (turn.context.isUnstored !== true)
      for (const { keys, value } of new Set(needed.values())) shared?.renew(keys, value);
    return { history, missing };
  }

  async load(turn: Turn, missing: RecalledHistory['missing']): Promise<boolean> {
    const isUnknown = (key: string): boolean => this.#answers.get(key) === undefined;
    const unknown = missing.slice(-MAX_LOADED).filter(isUnknown);
    const loaded = unknown.length === 0 ? undefined : await this.#options.shared?.load(unknown);
    const keysOf = new Map<CallingAnswer, string[]>();
    for (const [key, answer] of loaded ?? []) {
      // It may have been remembered in the meantime.
      if (isUnknown(key)) keysOf.set(answer, [...(keysOf.get(answer) ?? []), key]);
    }
    for (const [answer, keys] of keysOf) this.#add(turn, keys, answer);
    return !missing.every(isUnknown);
  }

  refused(turn: Turn, refusal: Failure): void {
    const { refusals, shared } = this.#options;
    if (!isUnreadable(refusal)) refusals.add(turn, 'recalled reasoning');
    const keys = new Set<string>();
    restoreReasoning(turn.request.items, (call) => {
      keys.add(this.#keyOf(turn, call));
      return null;
    });
    shared?.drop([...keys].filter((key) => this.#answers.get(key) !== undefined));
    for (const key of keys) this.#answers.drop(key);
    this.#answers.settle();
  }

  /** False: it is too large. */
  #add(turn: Turn, keys: readonly string[], value: CallingAnswer): boolean {
    const bytes = bytesOf(value, keys);
    this.#answers.add({ holder: turn.context.caller.keyId, keys, value, bytes });
    return bytes <= this.#options.maxBytes;
  }

  /** Some backends number their calls, so the key of such an id includes the conversation and the item before the answer. */
  #keyOf(
    { request: { model }, context: { caller, conversation } }: Turn,
    { callId, asked }: Pick<SentCall, 'callId' | 'asked'>,
  ): string {
    return JSON.stringify([
      this.#options.backend,
      caller.keyId,
      model,
      excerptOf(callId),
      ...(isRandomId(callId) ? [] : [conversation, identityOf(asked)]),
    ]);
  }
}

const bytesOf = ({ steps }: CallingAnswer, keys: readonly string[]): number =>
  steps.reduce((sum, step) => sum + bytesOfStep(step), ANSWER_BYTES) +
  keys.reduce((sum, key) => sum + bytesOfText(key), 0);

const MAX_PARTS = 8;
/** Characters of each end of a text. */
const MAX_END = 200;

/** Enough of an item to identify it. */
const identityOf = (item: Item | undefined): readonly unknown[] => {
  if (item?.kind === 'tool-output') {
    const { callId, output } = item;
    return [excerptOf(callId ?? ''), ...(typeof output === 'string' ? [excerptOf(output)] : partsOf(output))];
  }
  return item?.kind === 'message' ? [item.role, ...partsOf(item.parts)] : [item?.kind];
};

const partsOf = (parts: readonly Part[]): readonly unknown[] => [
  parts.length,
  ...parts
    .slice(-MAX_PARTS)
    .map((part) => excerptOf('text' in part ? part.text : 'url' in part ? part.url : '')),
];

const excerptOf = (text: string): unknown =>
  text.length <= 2 * MAX_END ? text : [text.length, text.slice(0, MAX_END), text.slice(-MAX_END)];

const bytesOfStep = (step: AnswerStep): number => {
  if (step.kind === 'call') return STEP_BYTES + bytesOfText(step.input ?? '');
  if (step.kind !== 'reasoning') return STEP_BYTES;
  const { id = '', summary, content = [], encryptedContent = '' } = step.reasoning;
  const texts = [id, ...summary, ...content, encryptedContent];
  return texts.reduce((sum, text) => sum + bytesOfText(text), STEP_BYTES);
};
