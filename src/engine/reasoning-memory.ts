import type { Item, Part, Produced } from '../canonical/item.ts';
import type { Failure } from '../canonical/failure.ts';
import { circumstancesOf, type TurnRequest } from '../canonical/turn-request.ts';
import { wholeHistory, type History } from '../codex/translate/fit-history.ts';
import type { Clock } from '../kit/ambient.ts';
import { Recent } from '../kit/recent.ts';
import { isUnreadable } from './approaches.ts';
import {
  callingAnswerOf,
  lastAsked,
  restoreReasoning,
  type CallingAnswer,
  type Step,
} from './restore-reasoning.ts';

export interface ReasoningMemoryOptions {
  /** 0: nothing is remembered. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
}

/** The memory as the engine of one backend has it: nobody else can read what that one encrypted. */
export interface BackendMemory {
  /** An answer that called tools was given to this request. */
  remember(request: TurnRequest, answer: readonly Produced[]): void;
  /** The request's conversation with the reasoning that its client left out. */
  recall(request: TurnRequest): History;
  /** The backend refused this request, and took it without what was recalled for it. */
  refused(request: TurnRequest, refusal: Failure): void;
}

interface Kept {
  readonly caller: string;
  readonly answer: CallingAnswer;
  readonly keys: readonly string[];
  readonly bytes: number;
  readonly at: number;
}

/** Behind the last request that needed it. */
const REMEMBERED_FOR_MS = 60 * 60_000;
const RENEWED_AFTER_MS = 60_000;
/** A backend that takes no reasoning from its clients may learn to. */
const REFUSED_FOR_MS = 10 * 60_000;
const MAX_REFUSED = 1_000;
/** What a map, its keys and the objects in it take, about. */
const ANSWER_BYTES = 400;
const STEP_BYTES = 200;

/**
 * Reasoning of answers that called tools, by the ids of their calls: a Chat client cannot send it back,
 * and others do not. It is the caller's alone, and the model's that thought it.
 */
export class ReasoningMemory {
  readonly #options: ReasoningMemoryOptions;
  readonly #byKey = new Map<string, Kept>();
  /** By caller, the one that was not needed for longest first. */
  readonly #byCaller = new Map<string, { readonly kept: Set<Kept>; bytes: number }>();
  /** By backend and circumstances: nothing is recalled there. */
  readonly #refused: Recent<true>;
  #bytes = 0;

  constructor(options: ReasoningMemoryOptions) {
    this.#options = options;
    this.#refused = new Recent(MAX_REFUSED, REFUSED_FOR_MS, options.clock);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `backend`: the same for as long as it is the same backend with the same account. */
  of(backend: string): BackendMemory {
    const placeOf = (request: TurnRequest): string => `${backend} ${circumstancesOf(request)}`;
    const found = (request: TurnRequest, callId: string, asked: Item | undefined): Kept | undefined =>
      this.#byKey.get(keyOf(backend, request, callId, asked));
    return {
      remember: (request, items) => {
        const asked = lastAsked(request.items);
        const calls = items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : []));
        const keys = calls.map((callId) => keyOf(backend, request, callId, asked));
        // An id that comes again means its newest call, also where nothing was thought before it.
        for (const key of keys) this.#drop(this.#byKey.get(key));
        const answer = callingAnswerOf(items);
        if (answer !== null) this.#keep(request.caller, answer, keys);
        this.#settle();
      },
      recall: (request) => {
        this.#settle();
        const isRefused = this.#refused.get(placeOf(request)) !== undefined;
        if (this.#byKey.size === 0 || isRefused) return wholeHistory(request.items);
        const needed = new Set<Kept>();
        const history = restoreReasoning(request.items, (callId, asked) => {
          const kept = found(request, callId, asked);
          if (kept === undefined) return null;
          needed.add(kept);
          return kept.answer;
        });
        this.#renew(needed);
        return history;
      },
      refused: (request, refusal) => {
        if (!isUnreadable(refusal)) this.#refused.set(placeOf(request), true);
        restoreReasoning(request.items, (callId, asked) => {
          this.#drop(found(request, callId, asked));
          return null;
        });
        this.#settle();
      },
    };
  }

  #keep(caller: string, answer: CallingAnswer, keys: readonly string[]): void {
    const bytes =
      ANSWER_BYTES +
      answer.steps.reduce((sum, step) => sum + bytesOfStep(step), 0) +
      keys.reduce((sum, key) => sum + bytesOfText(key), 0);
    this.#add({ caller, answer, keys, bytes, at: this.#options.clock.now() });
  }

  /** They were needed now. A long conversation brings many, again and again. */
  #renew(needed: ReadonlySet<Kept>): void {
    const now = this.#options.clock.now();
    for (const kept of needed) {
      if (now - kept.at < RENEWED_AFTER_MS) continue;
      this.#drop(kept);
      this.#add({ ...kept, at: now });
    }
  }

  #add(kept: Kept): void {
    const own = this.#byCaller.get(kept.caller) ?? { kept: new Set<Kept>(), bytes: 0 };
    this.#byCaller.set(kept.caller, own);
    own.kept.add(kept);
    own.bytes += kept.bytes;
    this.#bytes += kept.bytes;
    for (const key of kept.keys) this.#byKey.set(key, kept);
  }

  #drop(kept: Kept | undefined): void {
    const own = kept === undefined ? undefined : this.#byCaller.get(kept.caller);
    if (kept === undefined || own?.kept.delete(kept) !== true) return;
    own.bytes -= kept.bytes;
    this.#bytes -= kept.bytes;
    if (own.kept.size === 0) this.#byCaller.delete(kept.caller);
    for (const key of kept.keys) if (this.#byKey.get(key) === kept) this.#byKey.delete(key);
  }

  /** What is too old goes, and beyond the bound the oldest of whoever holds the most: nobody pushes others out. */
  #settle(): void {
    const expired = this.#options.clock.now() - REMEMBERED_FOR_MS;
    for (const { kept } of this.#byCaller.values()) {
      for (const one of kept) {
        if (one.at > expired) break;
        this.#drop(one);
      }
    }
    while (this.#bytes > this.#options.maxBytes) {
      const heaviest = [...this.#byCaller.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.#drop(heaviest.kept.values().next().value);
    }
    this.#options.onChange(this.#bytes);
  }
}

/**
 * There are backends that number their calls, so that one id is used in every conversation: then it takes
 * the conversation and what the answer was an answer to.
 */
const keyOf = (
  backend: string,
  { caller, model, conversation }: TurnRequest,
  callId: string,
  asked: Item | undefined,
): string =>
  JSON.stringify([
    backend,
    caller,
    model,
    excerptOf(callId),
    ...(isUnique(callId) ? [] : [conversation, traceOf(asked)]),
  ]);

/** Whether an id was drawn by chance, as far as one can see: 16 characters in a row, some of them digits, or a UUID. */
const isUnique = (callId: string): boolean =>
  /(?=[a-z]*\d)[a-z\d]{16}|[a-f\d]{8}(?:-[a-f\d]{4}){3}-[a-f\d]{12}/i.test(callId.slice(0, 128));

/** Of parts, and of each end of a text. */
const MAX_PARTS = 8;
const MAX_END = 200;

/** Enough of an item to tell it from others. */
const traceOf = (item: Item | undefined): readonly unknown[] => {
  if (item?.kind === 'tool-output') {
    const { callId, output } = item;
    return [excerptOf(callId), ...(typeof output === 'string' ? [excerptOf(output)] : partsOf(output))];
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

const bytesOfStep = (step: Step): number => {
  if (step.kind !== 'reasoning') return STEP_BYTES;
  const { id = '', summary, content = [], encryptedContent = '' } = step.reasoning;
  const texts = [id, ...summary, ...content, encryptedContent];
  return texts.reduce((sum, text) => sum + bytesOfText(text), STEP_BYTES);
};

/** As the runtime keeps it: one byte for each character, or two where one of them needs two. */
const bytesOfText = (text: string): number =>
  // eslint-disable-next-line no-control-regex -- every character that fits into a byte
  /[^\u0000-\u00FF]/.test(text) ? 2 * text.length : text.length;
