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

/** The memory for one backend: reasoning is encrypted, and only its backend can read it. */
export interface BackendMemory {
  /** Remembers an answer with tool calls to this request. */
  remember(turn: Turn, answer: readonly Produced[]): void;
  /** The request's conversation with the reasoning that its client left out. */
  recall(turn: Turn): History;
  /** The backend rejected this request, and accepted it without the recalled reasoning. */
  refused(turn: Turn, refusal: Failure): void;
}

/** Since the last request that needed it. */
const REMEMBERED_FOR_MS = 60 * 60_000;
/** The memory of a map, its keys and its objects, roughly. */
const ANSWER_BYTES = 400;
const STEP_BYTES = 200;

/**
 * Remembers the reasoning of answers that called tools, because Chat clients cannot send it back, and others do not. By
 * call id, separately for each caller and model.
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
          const holder = turn.context.caller.keyId;
          answers.add({ holder, keys, value: answer, bytes: bytesOf(answer, keys) });
          return;
        }
        // An id that is used again means its newest call, even one without reasoning.
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

/** Some backends number their calls, so the key of such an id includes the conversation and the item before the answer. */
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
    ...(isRandomId(callId) ? [] : [conversation, identityOf(asked)]),
  ]);

const MAX_PARTS = 8;
/** Characters of each end of a text. */
const MAX_END = 200;

/** Enough of an item to identify it. */
const identityOf = (item: Item | undefined): readonly unknown[] => {
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
