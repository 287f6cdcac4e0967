import type { ItemDelta } from '../canonical/turn-event.ts';
import { isJsonObject, type Json } from '../kit/json.ts';

/** Log probabilities of a text of which not all is passed on: each goes with the beginning of its token. */
export class HeldLogprobs {
  #waiting: readonly Json[] = [];
  /** So much of the text that is still to come belongs to a token whose own was passed on. */
  #ahead = 0;

  add(logprobs: readonly Json[]): void {
    if (logprobs.length > 0) this.#waiting = [...this.#waiting, ...logprobs];
  }

  /** Those of the tokens that begin in the next so many characters. */
  take(length: number): readonly Json[] {
    let count = 0;
    let at = this.#ahead;
    while (at < length && count < this.#waiting.length) {
      at += lengthOf(this.#waiting[count]);
      count += 1;
    }
    this.#ahead = Math.max(at - length, 0);
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return taken;
  }

  /** All of them: nothing of the text is held any more. */
  rest(): readonly Json[] {
    const rest = this.#waiting;
    this.#waiting = [];
    this.#ahead = 0;
    return rest;
  }
}

/** The delta with the beginning of its text, and with what belongs to that. */
export const cutDelta = ({ itemId, at, logprobs }: ItemDelta, delta: string): ItemDelta => {
  const held = new HeldLogprobs();
  held.add(logprobs ?? []);
  return withLogprobs({ type: 'item-delta', itemId, at, delta }, held.take(delta.length));
};

export const withLogprobs = (event: ItemDelta, logprobs: readonly Json[]): ItemDelta => {
  const { logprobs: _, ...rest } = event;
  return logprobs.length === 0 ? rest : { ...rest, logprobs };
};

const lengthOf = (logprob: Json | undefined): number => {
  const token = isJsonObject(logprob) ? logprob['token'] : '';
  return typeof token === 'string' ? token.length : 0;
};
