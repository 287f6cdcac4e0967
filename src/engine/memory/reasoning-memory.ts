import type { Item, Part, Produced } from '../../canonical/request/item.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import type { Turn } from '../../canonical/context/turn-context.ts';
import { wholeHistory, type History } from '../../codex/translate/fit-history.ts';
import type { Clock } from '../../kit/ambient.ts';
import { isRandomId } from '../../kit/random-id.ts';
import { bytesOfText, FairCache } from '../../kit/collections/fair-cache.ts';
import type { Refusals } from '../../codex/capabilities/refusals.ts';
import { isUnreadable } from '../plan/request-strategies.ts';
import {
  callingAnswerOf,
  lastAsked,
  restoreReasoning,
  type CallingAnswer,
  type AnswerStep,
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
  remember(turn: Turn, answer: readonly Produced[]): void;
  /** The request's conversation with the reasoning that its client left out. */
  recall(turn: Turn): History;
  /** The backend refused this request, and took it without what was recalled for it. */
  refused(turn: Turn, refusal: Failure): void;
}

/** Behind the last request that needed it. */
const REMEMBERED_FOR_MS = 60 * 60_000;
/** What a map, its keys and the objects in it take, about. */
const ANSWER_BYTES = 400;
const STEP_BYTES = 200;

/**
 * Reasoning of answers that called tools, by the ids of their calls: a Chat client cannot send it back,
 * and others do not. It is the caller's alone, and the model's that thought it.
 */
export class ReasoningMemory {
  readonly #answers: FairCache<CallingAnswer>;

  constructor({ maxBytes, clock, onChange }: ReasoningMemoryOptions) {
    this.#answers = new FairCache({ maxBytes, maxAgeMs: REMEMBERED_FOR_MS, clock, onChange });
  }

  get bytes(): number {
    return this.#answers.bytes;
  }

  /** `backend`: the same for as long as it is the same backend with the same account. */
  of(backend: string, refusals: Refusals): BackendMemory {
    const answers = this.#answers;
    return {
      remember(turn, items) {
        const asked = lastAsked(turn.request.items);
        const calls = items.flatMap((item) => (item.kind === 'tool-call' ? [item.callId] : []));
        const keys = calls.map((callId) => keyOf(backend, turn, callId, asked));
        const answer = callingAnswerOf(items);
        if (answer !== null) {
          answers.add({
            holder: turn.context.caller.keyId,
            keys,
            value: answer,
            bytes: bytesOf(answer, keys),
          });
          return;
        }
        // An id that comes again means its newest call, also where nothing was thought before it.
        for (const key of keys) answers.drop(key);
        answers.settle();
      },
      recall: (turn) => {
        const { items } = turn.request;
        answers.settle();
        if (answers.isEmpty || refusals.has(turn, 'recalled reasoning')) return wholeHistory(items);
        const needed = new Set<string>();
        const history = restoreReasoning(items, (callId, asked) => {
          const key = keyOf(backend, turn, callId, asked);
          const found = answers.get(key);
          if (found === undefined) return null;
          needed.add(key);
          return found.value;
        });
        for (const key of needed) answers.renew(key);
        return history;
      },
      refused: (turn, refusal) => {
        if (!isUnreadable(refusal)) refusals.add(turn, 'recalled reasoning');
        restoreReasoning(turn.request.items, (callId, asked) => {
          answers.drop(keyOf(backend, turn, callId, asked));
          return null;
        });
        answers.settle();
      },
    };
  }
}

const bytesOf = ({ steps }: CallingAnswer, keys: readonly string[]): number =>
  steps.reduce((sum, step) => sum + bytesOfStep(step), ANSWER_BYTES) +
  keys.reduce((sum, key) => sum + bytesOfText(key), 0);

/**
 * There are backends that number their calls, so that one id is used in every conversation: then it takes
 * the conversation and what the answer was an answer to.
 */
const keyOf = (
  backend: string,
  { request: { model }, context: { caller, conversation } }: Turn,
  callId: string,
  asked: Item | undefined,
): string =>
  JSON.stringify([
    backend,
    caller.keyId,
    model,
    excerptOf(callId),
    ...(isRandomId(callId) ? [] : [conversation, traceOf(asked)]),
  ]);

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

const bytesOfStep = (step: AnswerStep): number => {
  if (step.kind !== 'reasoning') return STEP_BYTES;
  const { id = '', summary, content = [], encryptedContent = '' } = step.reasoning;
  const texts = [id, ...summary, ...content, encryptedContent];
  return texts.reduce((sum, text) => sum + bytesOfText(text), STEP_BYTES);
};
