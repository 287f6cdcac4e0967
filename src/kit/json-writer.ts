import { isJsonObject, wellFormedJson } from './json.ts';
import type { Steps } from './loop-turns.ts';

/** About as many characters as one step writes: a fraction of a millisecond. */
const STEP_CHARS = 64 * 1024;
/** What a value counts for besides its text. */
const VALUE_CHARS = 4;

/**
 * Whether a value is longer than so many characters when it is written as JSON; roughly, and without
 * going through more of it than that.
 */
export const isLongerThan = (value: unknown, chars: number): boolean => {
  let room = chars;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    room -= typeof one === 'string' ? one.length : VALUE_CHARS;
    if (room < 0) return true;
    if (Array.isArray(one)) {
      room -= one.length;
      if (room < 0) return true;
      for (const element of one as readonly unknown[]) open.push(element);
    } else if (isJsonObject(one)) {
      for (const key in one) {
        if (!Object.hasOwn(one, key)) continue;
        room -= key.length;
        if (room < 0) return true;
        open.push(one[key]);
      }
    }
  }
  return false;
};

/**
 * Writes JSON in steps, as pieces of text that follow each other: what `wellFormedJson` writes, for
 * values that came from JSON. A value of many megabytes would hold the event loop for as long as it
 * takes to write it.
 */
export function* writeJsonSteps(value: unknown, stepChars = STEP_CHARS): Steps<readonly string[]> {
  const writer = new JsonWriter(stepChars);
  yield* writer.write(value);
  return writer.end();
}

class JsonWriter {
  readonly #stepChars: number;
  readonly #pieces: string[] = [];
  #piece = '';

  constructor(stepChars: number) {
    this.#stepChars = stepChars;
  }

  *write(value: unknown): Steps<void> {
    const isHeavy = isLongerThan(value, this.#stepChars);
    if (isHeavy && typeof value === 'string') yield* this.#string(value);
    else if (isHeavy && Array.isArray(value)) yield* this.#list(value);
    else if (isHeavy && isJsonObject(value)) yield* this.#object(value);
    else {
      this.#add(value === undefined ? 'null' : wellFormedJson(value));
      yield;
    }
  }

  end(): readonly string[] {
    if (this.#piece !== '') this.#pieces.push(this.#piece);
    return this.#pieces;
  }

  *#list(list: readonly unknown[]): Steps<void> {
    let separator = '[';
    for (const element of list) {
      this.#add(separator);
      separator = ',';
      yield* this.write(element);
    }
    this.#add(separator === '[' ? '[]' : ']');
  }

  *#object(object: Readonly<Record<string, unknown>>): Steps<void> {
    let separator = '{';
    for (const [key, member] of Object.entries(object)) {
      if (member === undefined) continue;
      this.#add(`${separator}${wellFormedJson(key)}:`);
      separator = ',';
      yield* this.write(member);
    }
    this.#add(separator === '{' ? '{}' : '}');
  }

  *#string(text: string): Steps<void> {
    this.#add('"');
    for (let at = 0; at < text.length;) {
      const end = at + this.#stepChars;
      // Both halves of a character stay together.
      const next = isFirstHalf(text.charCodeAt(end - 1)) ? end + 1 : end;
      this.#add(JSON.stringify(text.slice(at, next).toWellFormed()).slice(1, -1));
      at = next;
      yield;
    }
    this.#add('"');
  }

  #add(text: string): void {
    this.#piece += text;
    if (this.#piece.length < this.#stepChars) return;
    this.#pieces.push(this.#piece);
    this.#piece = '';
  }
}

const isFirstHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
