import type { IdSource } from '../../kit/ambient.ts';

/** The ids of a turn's items: the upstream's own, unless one is missing or used twice. */
export class ItemIds {
  readonly #source: IdSource;
  readonly #ours = new Map<string, string>();
  readonly #used = new Set<string>();

  constructor(source: IdSource) {
    this.#source = source;
  }

  /** Our id for an upstream id seen before. */
  known(upstreamId: string): string | undefined {
    return this.#ours.get(upstreamId);
  }

  /** `upstreamId` may be empty. */
  create(upstreamId: string, prefix: string): string {
    const isUsable = upstreamId !== '' && !this.#used.has(upstreamId);
    const itemId = isUsable ? upstreamId : this.#source.mint(prefix);
    this.#used.add(itemId);
    this.#ours.set(upstreamId, itemId);
    return itemId;
  }
}
