import { isToolCall, type Slot } from '../../canonical/request/item.ts';
import { isEmptyDelta, type TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Clock } from '../../kit/ambient.ts';
import { wellFormed } from '../../canonical/events/well-formed.ts';
import { tokenizerFor, type Tokenizer } from '../count-tokens.ts';
import { cutDelta } from './stop-sequences.ts';
import type { Plan } from '../engine.ts';
import type { Step } from './step.ts';

/** Answers a request for zero output tokens without asking the model. */
export const skipEmptyOutput: Step<{ readonly clock: Clock }> = {
  name: 'skip-empty-output',
  why: 'A request for zero output tokens needs no model. Around the output limit, which would ask the model first.',
  wrap:
    (next, { clock }) =>
    (request, context) => {
      const plan = next(request, context);
      if (request.maxOutputTokens !== 0) return plan;
      return {
        ...plan,
        run: (_, onSettled) => withoutOutput(plan, clock, onSettled),
      };
    },
};

async function* withoutOutput(plan: Plan, clock: Clock, onSettled?: () => void): AsyncGenerator<TurnEvent> {
  onSettled?.();
  yield { type: 'turn-accepted', ignored: plan.ignored, limitsOutput: true, headers: {} };
  const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
  yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
}

/** Longer text is settled (counted for the last time) up to its last space. */
const SETTLE_ABOVE = 256;
/** Longer text without a space is settled anyway: an inexact count is better than counting everything again. */
const SETTLE_ANYWAY_ABOVE = 512;
/** Growing text may be split into other tokens, a few more than before. */
const MARGIN = 16;
/** The least of a long delta that is counted at once. */
const PIECE_CHARS = 1_024;

export interface OutputLimit {
  readonly maxTokens: number;
  readonly tokenizer: Tokenizer;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/** Cuts answers at the client's limit. */
export const limitOutput: Step<{ readonly tokenizer: Tokenizer; readonly clock: Clock }> = {
  name: 'limit-output',
  why: '`max_output_tokens` for backends without such a limit; a backend that has one keeps it, so the request is unchanged. Around the stop sequences, because what they cut is not counted.',
  wrap:
    (next, { tokenizer, clock }) =>
    (request, context) => {
      const plan = next(request, context);
      const { maxOutputTokens: maxTokens } = request;
      if (maxTokens === null) return plan;
      const limit = { maxTokens, tokenizer: tokenizerFor(tokenizer, context.caller.keyId), clock };
      return {
        ...plan,
        run: (signal, onSettled) =>
          wellFormed(cutOutput(plan.run(signal, onSettled), { ...limit, signal }), { clock }),
      };
    },
};

/** The parts of an item that count as visible output; reasoning does not. */
const COUNTED: ReadonlySet<Slot> = new Set<Slot>(['text', 'input']);

/**
 * Counts the visible output as it comes, cuts it at the limit, and ends the turn as incomplete; `wellFormed` around it
 * ends the open items. Leaving the source early interrupts the turn.
 */
export async function* cutOutput(
  events: AsyncIterable<TurnEvent>,
  { maxTokens, tokenizer, clock, signal }: OutputLimit,
): AsyncGenerator<TurnEvent> {
  const budget = new TokenBudget(maxTokens, tokenizer);
  let isNeeded = true;
  for await (const event of events) {
    if (event.type === 'turn-accepted') {
      isNeeded = !event.limitsOutput;
      if (isNeeded && budget.willCount) tokenizer.warmUp();
    }
    const counted = isNeeded ? countedText(event) : null;
    if (counted === null) {
      yield event;
      continue;
    }
    const allowed = await budget.take(counted.of, counted.text, signal);
    if (!budget.isLimitReached) {
      if (event.type !== 'item-delta' || !isEmptyDelta(event)) yield event;
      continue;
    }
    // A call never starts with half its name.
    if (event.type === 'item-delta' && allowed !== '') yield cutDelta(event, allowed);
    const outcome = { kind: 'incomplete', reason: 'max_output_tokens' } as const;
    yield { type: 'turn-ended', outcome, usage: null, isEndedHere: true, at: clock.now() };
    return;
  }
}

/** The text of an event that counts, and a key for the text that it continues. Names of calls count, too. */
const countedText = (event: TurnEvent): { readonly of: string; readonly text: string } | null => {
  if (event.type === 'item-delta' && COUNTED.has(event.at)) return { of: event.itemId, text: event.delta };
  if (event.type !== 'item-started' || !isToolCall(event.item)) return null;
  return { of: `name of ${event.item.id}`, text: event.item.name };
};

/** Counts tokens against the limit. A text has at most as many tokens as bytes, so most deltas need no tokenizer. */
class TokenBudget {
  readonly #max: number;
  readonly #tokenizer: Tokenizer;
  /** Tokens of settled text. */
  #settled = 0;
  /** Texts that are not settled; the last one still grows. */
  #texts: { readonly itemId: string; text: string }[] = [];
  /** The most tokens that they can have. */
  #atMost = 0;
  isLimitReached = false;

  constructor(max: number, tokenizer: Tokenizer) {
    this.#max = max;
    this.#tokenizer = tokenizer;
  }

  /** Whether an answer of usual length needs the tokenizer. */
  get willCount(): boolean {
    return this.#max < USUAL_LIMIT;
  }

  /** The part of a delta that the limit allows. */
  async take(itemId: string, delta: string, signal?: AbortSignal): Promise<string> {
    let allowed = '';
    for (let at = 0; at < delta.length && !this.isLimitReached;) {
      signal?.throwIfAborted();
      const room = Math.floor((this.#max - this.#settled - this.#atMost - MARGIN) / MAX_BYTES);
      const end = wholeCharacters(delta, at + Math.max(room, PIECE_CHARS));
      allowed += await this.#add(itemId, delta.slice(at, end));
      at = end;
    }
    return allowed;
  }

  async #add(itemId: string, piece: string): Promise<string> {
    const last = this.#growing(itemId);
    const before = last.text.length;
    last.text += piece;
    this.#atMost += bytesOf(piece);
    if (this.#settled + this.#atMost + MARGIN <= this.#max) return piece;
    // All texts but the last are complete.
    for (const { text } of this.#texts.slice(0, -1)) this.#settled += await this.#tokenizer.count(text);
    this.#texts = [last];
    const count = await this.#tokenizer.count(last.text);
    if (this.#settled + count > this.#max) {
      this.isLimitReached = true;
      const head = await this.#tokenizer.head(last.text, this.#max - this.#settled);
      return head.slice(before);
    }
    this.#atMost = count;
    await this.#settle(last);
    return piece;
  }

  #growing(itemId: string): { readonly itemId: string; text: string } {
    const last = this.#texts.at(-1);
    if (last?.itemId === itemId) return last;
    const next = { itemId, text: '' };
    this.#texts.push(next);
    return next;
  }

  async #settle(last: { text: string }): Promise<void> {
    const end = settledEnd(last.text);
    if (end === 0) return;
    this.#settled += await this.#tokenizer.count(last.text.slice(0, end));
    last.text = last.text.slice(end);
    this.#atMost = await this.#tokenizer.count(last.text);
  }
}

/** The most bytes of a UTF-16 code unit. */
const MAX_BYTES = 3;
/** Longer answers, in bytes, are rare. */
const USUAL_LIMIT = 64 * 1024;

const bytesOf = (text: string): number => {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : MAX_BYTES;
  }
  return bytes;
};

const wholeCharacters = (text: string, end: number): number =>
  /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end + 1 : end;

/** The length of the text whose tokens can no longer change. */
const settledEnd = (text: string): number => {
  if (text.length <= SETTLE_ABOVE) return 0;
  const space = Math.max(text.lastIndexOf(' '), text.lastIndexOf('\n'));
  return space <= 0 && text.length > SETTLE_ANYWAY_ABOVE ? text.length : Math.max(space, 0);
};
