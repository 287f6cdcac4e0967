import { FairCache, type FairCacheOptions } from '../../kit/collections/fair-budget.ts';
import type { LocalResponse, LocalResponses } from '../../turns/turn-state.ts';

/** More than any client goes back. */
const MAX_RESPONSES = 64;
/** Longer than any connection lasts. */
const KEPT_FOR_MS = 2 * 60 * 60_000;

export type MemoryOptions = Omit<FairCacheOptions, 'maxAgeMs'>;

/** What all connections remember together. Above its limit the oldest response of the key that has the most is forgotten. */
export class ConnectionMemories {
  readonly #cache: FairCache<LocalResponse>;
  #opened = 0;

  constructor(options: MemoryOptions) {
    this.#cache = new FairCache({ ...options, maxAgeMs: KEPT_FOR_MS });
  }

  /** The memory of one connection of this caller. */
  open(caller: string): ConnectionMemory {
    this.#opened += 1;
    return new ConnectionMemory(this.#cache, caller, this.#opened);
  }
}

/** The conversations up to the latest responses of a connection that are not in the store. */
export class ConnectionMemory {
  readonly #cache: FairCache<LocalResponse>;
  readonly #caller: string;
  readonly #number: number;
  /** The lane of each response, the oldest first. */
  readonly #lanes = new Map<string, string | null>();

  constructor(cache: FairCache<LocalResponse>, caller: string, number: number) {
    this.#cache = cache;
    this.#caller = caller;
    this.#number = number;
  }

  /** As the requests of a lane see it: all responses of the connection, to which they add theirs. */
  of(lane: string | null): LocalResponses {
    return {
      find: (id) => this.#find(id),
      add: (id, response) => this.#add(id, lane, response),
    };
  }

  /** A request of this lane could not continue the response: it is forgotten, unless another lane made it. */
  evict(id: string, lane: string | null): void {
    if (this.#lanes.get(id) === lane) this.#drop(id);
  }

  clear(): void {
    for (const id of this.#lanes.keys()) this.#drop(id);
    this.#cache.settle();
  }

  #find(id: string): LocalResponse | null {
    return this.#lanes.has(id) ? (this.#cache.get(this.#keyOf(id))?.value ?? null) : null;
  }

  #add(id: string, lane: string | null, response: LocalResponse): void {
    this.#lanes.set(id, lane);
    const { bytes } = response;
    this.#cache.add({ holder: this.#caller, keys: [this.#keyOf(id)], value: response, bytes });
    if (this.#lanes.size <= MAX_RESPONSES) return;
    const [oldest] = this.#lanes.keys();
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(id: string): void {
    this.#lanes.delete(id);
    this.#cache.drop(this.#keyOf(id));
  }

  #keyOf(id: string): string {
    return `${this.#number} ${id}`;
  }
}
