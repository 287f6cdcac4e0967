import { append } from '../../kit/collections/append.ts';
import type { ItemDelta } from '../../canonical/events/turn-event.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** Log probabilities of a text of which not all is passed on: each goes with the beginning of its token. */
export class HeldLogprobs {
  /** Those before `#from` are gone. Much may be held, so nothing is copied for each that comes. */
  #waiting: Json[] = [];
  #from = 0;
  /** So much of the text that is still to come belongs to a token whose own was passed on. */
  #ahead = 0;

  add(logprobs: readonly Json[]): void {
    append(this.#waiting, logprobs);
  }

  /** Those of the tokens that begin in the next so many characters. */
  take(length: number): readonly Json[] {
    let to = this.#from;
    let at = this.#ahead;
    while (at < length && to < this.#waiting.length) {
      at += lengthOf(this.#waiting[to]);
      to += 1;
    }
    this.#ahead = Math.max(at - length, 0);
    const taken = this.#waiting.slice(this.#from, to);
    this.#from = to;
    if (to === this.#waiting.length) this.#clear();
    return taken;
  }

  /** All of them: nothing of the text is held any more. */
  rest(): readonly Json[] {
    const rest = this.#waiting.slice(this.#from);
    this.#clear();
    this.#ahead = 0;
    return rest;
  }

  #clear(): void {
    this.#waiting = [];
    this.#from = 0;
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
