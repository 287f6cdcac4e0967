/** A fair queue. Keys take turns; within a key, the order is first in, first out. */
export class FairLine<T> {
  /** In order of turns: a served key moves to the end. Empty keys are removed. */
  readonly #keys = new Map<string, T[]>();

  join(key: string, one: T): void {
    const own = this.#keys.get(key);
    if (own === undefined) this.#keys.set(key, [one]);
    else own.push(one);
  }

  /** The first entry of each key, in order of turns. */
  *heads(): Generator<T> {
    for (const [head] of this.#keys.values()) if (head !== undefined) yield head;
  }

  newestOf(key: string): T | undefined {
    return this.#keys.get(key)?.at(-1);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  lengthOf(key: string): number {
    return this.#keys.get(key)?.length ?? 0;
  }

  /** The key with the most entries. */
  longest(): string | undefined {
    return [...this.#keys.keys()].toSorted((one, other) => this.lengthOf(other) - this.lengthOf(one))[0];
  }

  /** Removes an entry that was not served; its key keeps its turn. Returns false if it was not queued. */
  leave(key: string, one: T): boolean {
    const own = this.#keys.get(key);
    const at = own?.indexOf(one) ?? -1;
    if (own === undefined || at === -1) return false;
    own.splice(at, 1);
    if (own.length === 0) this.#keys.delete(key);
    return true;
  }

  /** Removes a served entry, and ends the turn of its key. */
  serve(key: string, one: T): void {
    this.leave(key, one);
    const rest = this.#keys.get(key);
    if (rest === undefined) return;
    this.#keys.delete(key);
    this.#keys.set(key, rest);
  }
}
