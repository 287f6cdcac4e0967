import { isJsonObject, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';
import type { OutputItem } from './read-item.ts';

/** One output item of an answer. */
export interface AnswerItem {
  /** The backend's id; may be empty. */
  readonly name: string;
  readonly kind: OutputItem['kind'] | null;
  /** Our id; null if the item is hidden from the client. */
  readonly itemId: string | null;
  isDone: boolean;
}

/** The items of one answer. Backends omit ids, use one twice, or send an item only in the answer's last event. */
export class AnswerItems {
  readonly #byName = new Map<string, AnswerItem>();
  readonly #byIndex = new Map<number, AnswerItem>();
  readonly #doneNames = new Set<string>();
  readonly #doneIndexes = new Set<number>();
  #last: AnswerItem | null = null;
  #lastIndex: Json | undefined;
  #count = 0;
  #doneCount = 0;

  /** Whether there are items and all of them were streamed completely. */
  get areStreamed(): boolean {
    return this.#count > 0 && this.#doneCount === this.#count;
  }

  add(place: AnswerItem, index: Json | undefined): void {
    if (place.name !== '') this.#byName.set(place.name, place);
    if (typeof index === 'number') this.#byIndex.set(index, place);
    this.#last = place;
    this.#lastIndex = index;
    this.#count += 1;
  }

  /** The item that an event refers to by id, index, or both. */
  find(name: string, index: Json | undefined): AnswerItem | null {
    const at = typeof index === 'number' ? this.#byIndex.get(index) : undefined;
    if (at !== undefined && (name === '' || at.name === name)) return at;
    const named = name === '' ? undefined : this.#byName.get(name);
    // Some backends change an item's id in each event; its index stays the same.
    return named ?? (at?.isDone === false ? at : null);
  }

  /** The item started last, if it is open, of this kind, and not known to have another index. */
  lastOpen(kind: AnswerItem['kind'], index?: Json): AnswerItem | null {
    const isOther =
      typeof index === 'number' && typeof this.#lastIndex === 'number' && index !== this.#lastIndex;
    if (this.#last === null || isOther) return null;
    return this.#last.kind === kind && !this.#last.isDone ? this.#last : null;
  }

  done(place: AnswerItem, raw: JsonObject, index: Json | undefined): void {
    place.isDone = true;
    this.#doneCount += 1;
    for (const name of namesOf(raw)) this.#doneNames.add(name);
    if (typeof index === 'number') this.#doneIndexes.add(index);
  }

  /** The items of an answer's output that were not streamed completely. Empty if unsure: no item may appear twice. */
  missingIn(output: Json | undefined): readonly (readonly [raw: JsonObject, index: number])[] {
    if (!Array.isArray(output) || this.#doneCount >= output.length) return [];
    return (output as readonly Json[]).flatMap((raw, index) =>
      isJsonObject(raw) &&
      !this.#doneIndexes.has(index) &&
      !namesOf(raw).some((name) => this.#doneNames.has(name))
        ? [[raw, index] as const]
        : [],
    );
  }
}

const namesOf = (raw: JsonObject): readonly string[] =>
  [raw['id'], raw['call_id']].filter((name) => typeof name === 'string' && name !== '') as string[];

/** Whether an item identifies itself at its start. Others are emitted when they are complete. */
export const hasHead = (raw: JsonObject): boolean => {
  const type = textIn(raw, 'type');
  const isCall = type === 'function_call' || type === 'custom_tool_call';
  const isEncryptedCompaction = type === 'compaction' || type === 'compaction_summary';
  return !isEncryptedCompaction && (!isCall || (textIn(raw, 'name') !== '' && textIn(raw, 'call_id') !== ''));
};

/** The backend's id of an item, or else its call id; may be empty. */
export const nameOf = (raw: JsonObject): string => textIn(raw, 'id') || textIn(raw, 'call_id');
