import type { RequestSpans } from '../canonical/context/request-trace.ts';
import type { RequestSearch } from '../store/ports/requests.ts';
import type { RequestRecord } from './record.ts';

/** A request that has ended. */
export interface EndedRequest {
  readonly record: RequestRecord;
  readonly spans: RequestSpans;
}

/** The last requests of this server. */
export class MemoryHistory {
  readonly #max: number;
  /** The oldest first. */
  #ended: EndedRequest[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(ended: EndedRequest): void {
    this.#ended.push(ended);
    // Copied seldom, not for every request.
    if (this.#ended.length >= 2 * this.#max) this.#ended = this.#ended.slice(-this.#max);
  }

  /** By the id of the record. */
  find(id: string): EndedRequest | null {
    return this.#kept().find(({ record }) => record.id === id) ?? null;
  }

  list(search: RequestSearch): readonly RequestRecord[] {
    return this.#kept()
      .map(({ record }) => record)
      .filter((record) => matches(record, search))
      .toSorted((one, other) => (one.id < other.id ? 1 : -1))
      .slice(0, search.limit);
  }

  #kept(): readonly EndedRequest[] {
    return this.#max === 0 ? [] : this.#ended.slice(-this.#max);
  }
}

/** Whether the record is one of those that are looked for: the same as the query of the store. */
export const matches = (record: RequestRecord, search: RequestSearch): boolean => {
  const { id, requestId, responseId, status, error } = record;
  const { result, status: wanted, text, from, before } = search;
  return (
    (result === null || (result === 'failed') === (error !== null)) &&
    (wanted === null || ((status ?? 0) >= wanted.from && (status ?? 0) < wanted.below)) &&
    isWanted(error?.code ?? null, search.errorCode) &&
    isWanted(record.model, search.model) &&
    isWanted(record.keyId, search.keyId) &&
    isWanted(record.client, search.client) &&
    (from === null || id >= from) &&
    (before === null || id < before) &&
    (text === null || [id, requestId, responseId].some((name) => name?.startsWith(text) === true))
  );
};

const isWanted = (value: string | null, wanted: string | null): boolean =>
  wanted === null || value === wanted;
