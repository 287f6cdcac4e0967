import { isJsonObject, textIn, type Json, type JsonObject } from '../../kit/json/json.ts';
import type { OutputItem } from './read-item.ts';

/** One output item of an answer. */
export interface AnswerItem {
  /** The backend's; may be empty. */
  readonly name: string;
  readonly kind: OutputItem['kind'] | null;
  /** Ours; null: the client is not told of it. */
  readonly itemId: string | null;
  isDone: boolean;
}

/**
 * The items of one answer, by what the backend's events call them. Backends leave out ids, use one twice,
 * or send an item only in the answer's last event.
 */
export class AnswerItems {
  readonly #byName = new Map<string, AnswerItem>();
  readonly #byIndex = new Map<number, AnswerItem>();
  readonly #doneNames = new Set<string>();
  readonly #doneIndexes = new Set<number>();
  #last: AnswerItem | null = null;
  #lastIndex: Json | undefined;
  #count = 0;
  #doneCount = 0;

  /** Whether there are items, and all of them were streamed to their end. */
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

  /** The item that an event names by its id, its index, or both. */
  find(name: string, index: Json | undefined): AnswerItem | null {
    const at = typeof index === 'number' ? this.#byIndex.get(index) : undefined;
    if (at !== undefined && (name === '' || at.name === name)) return at;
    const named = name === '' ? undefined : this.#byName.get(name);
    // Some call an item by another id in each event; its index is the same.
    return named ?? (at?.isDone === false ? at : null);
  }

  /** The item that was begun last, if it is open, of this kind, and not known to have another index. */
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

  /** What of an answer's output was not streamed to its end. Where that is not sure, nothing: no item may come twice. */
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

/** Whether an item says at its start what it is. A call without its name and what is sealed are told when they are whole. */
export const hasHead = (raw: JsonObject): boolean => {
  const type = textIn(raw, 'type');
  const isCall = type === 'function_call' || type === 'custom_tool_call';
  const isEncryptedCompaction = type === 'compaction' || type === 'compaction_summary';
  return !isEncryptedCompaction && (!isCall || (textIn(raw, 'name') !== '' && textIn(raw, 'call_id') !== ''));
};

/** What a backend calls an item: by its id, or by that of the call; may be empty. */
export const nameOf = (raw: JsonObject): string => textIn(raw, 'id') || textIn(raw, 'call_id');
