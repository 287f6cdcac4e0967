import { afterCompaction } from '../../canonical/request/compaction.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Clock, IdSource } from '../../kit/ambient.ts';
import { runSliced, type Sliced } from '../../kit/async/event-loop.ts';
import { FairCache } from '../../kit/collections/fair-budget.ts';
import type { ConversationRow, Position, TurnRow, StateStore } from './store/port.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';
import { readStoredTurn, sentItems } from './stored-turn.ts';

/** A conversation up to one of its turns. */
export interface Chain {
  readonly at: Position;
  readonly items: readonly Item[];
  /** For the prompt cache. */
  readonly cacheKey: string;
  /** Characters of all turns as they are stored. */
  readonly chars: number;
  /** It has turns of a conversation with a name, whose items can be deleted. */
  readonly canChange: boolean;
}

export interface ChainsOptions {
  readonly store: StateStore;
  /** For conversations that were used recently; 0 keeps none. */
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
}

const HOT_FOR_MS = 60 * 60_000;

/**
 * Loads conversations. Those used recently are in memory, parsed, so that a follow-up costs neither a query nor a
 * decryption.
 */
export class Chains {
  readonly #store: StateStore;
  readonly #hot: FairCache<Chain>;

  constructor({ store, maxBytes, clock, onChange }: ChainsOptions) {
    this.#store = store;
    this.#hot = new FairCache({ maxBytes, maxAgeMs: HOT_FOR_MS, clock, onChange });
  }

  /** The conversation up to a response; null if it is unknown. */
  async upTo(owner: string, at: Position, limits: LoadLimits): Promise<Chain | null> {
    const hot = isConversationId(at.segment) ? null : this.#hotAt(owner, at, limits);
    if (hot !== null) return hot;
    const [chars, cacheKey] = await Promise.all([
      this.#store.turns.size(owner, at),
      this.#store.turns.cacheKey(owner, at.segment),
    ]);
    return chars === null || cacheKey === null ? null : this.#load(owner, { at, chars, cacheKey }, limits);
  }

  /** A whole conversation with a name. Every change of it adds a turn, so what is in memory is still right. */
  async whole(
    owner: string,
    { id, tip, cacheKey }: Pick<ConversationRow, 'id' | 'tip' | 'cacheKey'>,
    limits: LoadLimits,
  ): Promise<Chain> {
    const at = { segment: id, pos: tip };
    if (tip < 0) return { at, cacheKey, canChange: true, items: [], chars: 0 };
    const hot = this.#hotAt(owner, at, limits);
    if (hot !== null) return hot;
    const chars = (await this.#store.turns.size(owner, at)) ?? 0;
    return this.#load(owner, { at, chars, cacheKey }, limits);
  }

  #hotAt(owner: string, at: Position, { onBytes }: LoadLimits): Chain | null {
    const hot = this.#hot.get(keyOf(owner, at))?.value ?? null;
    if (hot !== null) onBytes(hot.chars);
    return hot;
  }

  async #load(
    owner: string,
    found: Pick<Chain, 'at' | 'chars' | 'cacheKey'>,
    { onBytes, signal }: LoadLimits,
  ): Promise<Chain> {
    onBytes(found.chars);
    const rows = await this.#store.turns.upTo(owner, found.at);
    const canChange = rows.some(({ segment }) => isConversationId(segment));
    const chain = { ...found, canChange, items: await runSliced(parseTurns(rows), signal) };
    this.keep(owner, chain, null);
    return chain;
  }

  /**
   * Keeps a conversation in memory, in place of the shorter one that it continues. What continues a response of a
   * conversation with a name is loaded each time, because items that are deleted there are not sent any more.
   */
  keep(owner: string, chain: Chain, instead: Chain | null): void {
    if (instead !== null) this.#hot.drop(keyOf(owner, instead.at));
    if (chain.canChange && !isConversationId(chain.at.segment)) return;
    const key = keyOf(owner, chain.at);
    this.#hot.add({ holder: owner, keys: [key], value: chain, bytes: BYTES_PER_CHAR * chain.chars });
  }

  drop(owner: string, at: Position): void {
    this.#hot.drop(keyOf(owner, at));
  }
}

/** Parsed objects take about twice their text. */
const BYTES_PER_CHAR = 2;

const keyOf = (owner: string, { segment, pos }: Position): string => JSON.stringify([owner, segment, pos]);

/** In slices: a conversation may be megabytes long. */
function* parseTurns(rows: readonly TurnRow[]): Sliced<readonly Item[]> {
  const items: Item[] = [];
  for (const row of rows) {
    for (const item of sentItems(row.key, yield* readStoredTurn(row))) items.push(item);
    yield;
  }
  return afterCompaction(items);
}

const PREFIX = 'conv';

export const newConversationId = (ids: IdSource): string => ids.mint(PREFIX);

/** Whether a segment is, or was, a conversation with a name. */
const isConversationId = (segment: string): boolean => segment.startsWith(`${PREFIX}_`);
