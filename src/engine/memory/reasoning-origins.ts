import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { itemFacts } from '../../canonical/request/item-facts.ts';
import { isReasoning, type Item, type Reasoning } from '../../canonical/request/item.ts';
import { isEncrypted } from '../../codex/translate/fit-history.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';

/** Encrypted reasoning, as one backend with one account sees it: no other can read what it wrote. */
export interface ReasoningOrigin {
  readonly name: string;
  /** The event, whose encrypted reasoning names its origin. */
  named(event: TurnEvent): TurnEvent;
  /** Whether another backend or account wrote it, or this one was found to be unable to read it. */
  readonly isForeign: (reasoning: Reasoning) => boolean;
  /** How many items are foreign. */
  foreignIn(items: readonly Item[]): number;
  /** The backend rejected a conversation with these items, and accepted it without their reasoning. */
  refused(items: readonly Item[]): void;
}

/** About 5 MB. Beyond that, forgotten reasoning of another account is tried again, once. */
const MAX_KNOWN = 20_000;
/** The end of an encrypted text is a MAC, which identifies it. */
const END = 48;

/**
 * Who wrote encrypted reasoning. Stored reasoning names its origin itself. That of clients, and what was stored by earlier
 * versions, does not: it is known as long as this process remembers who wrote it, or who could not read it.
 */
export class ReasoningOrigins {
  /** The origin by the end of the text, in the order in which they were learned. */
  readonly #writers = new Map<string, string>();
  /** Origin and end of texts that their backend could not read. */
  readonly #unreadable = new Map<string, true>();

  /** `origin`: the same for as long as it is the same backend with the same account, on every instance. */
  of(origin: string): ReasoningOrigin {
    const writerOf = (reasoning: Reasoning): string | undefined =>
      reasoning.origin ?? this.#writers.get(endOf(reasoning));
    const unreadableKey = (reasoning: Reasoning): string => `${origin} ${endOf(reasoning)}`;
    const isForeign = (reasoning: Reasoning): boolean =>
      (writerOf(reasoning) ?? origin) !== origin || this.#unreadable.has(unreadableKey(reasoning));
    return {
      name: origin,
      named: (event) => {
        if (event.type !== 'item-ended' || !isReasoning(event.item) || !isEncrypted(event.item)) return event;
        learn(this.#writers, endOf(event.item), origin);
        return { ...event, item: { ...event.item, origin } };
      },
      isForeign,
      foreignIn: (items) => encryptedIn(items).filter(isForeign).length,
      refused: (items) => {
        const sent = encryptedIn(items).filter((item) => !isForeign(item));
        // Those of unknown origin are the likely cause. The next request shows whether the others can be read.
        const unknown = sent.filter((item) => writerOf(item) === undefined);
        for (const item of unknown.length === 0 ? sent : unknown)
          learn(this.#unreadable, unreadableKey(item), true);
      },
    };
  }
}

const encryptedIn = (items: readonly Item[]): readonly Reasoning[] =>
  itemFacts(items).hasReasoning ? items.filter((item) => isReasoning(item)).filter(isEncrypted) : [];

const endOf = ({ encryptedContent = '' }: Reasoning): string =>
  `${encryptedContent.length} ${encryptedContent.slice(-END)}`;

const learn = <Value>(known: Map<string, Value>, key: string, value: Value): void => {
  known.delete(key);
  known.set(key, value);
  forgetOldest(known, MAX_KNOWN);
};
