import { append } from '../../kit/collections/lists.ts';
import type { ItemDelta } from '../../canonical/events/turn-event.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** Log probabilities of a text that is cut or held back. Each is sent with the beginning of its token. */
export class HeldLogprobs {
  /** Those before `#from` were sent; removing each from a long list would be slow. */
  #waiting: Json[] = [];
  #from = 0;
  /** How many of the next characters belong to a token that was sent. */
  #ahead = 0;

  add(logprobs: readonly Json[]): void {
    append(this.#waiting, logprobs);
  }

  /** The log probabilities of tokens that begin in the next `length` characters. */
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

  /** All that are left. */
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

/** The delta with only the beginning of its text, and the log probabilities of that. */
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
