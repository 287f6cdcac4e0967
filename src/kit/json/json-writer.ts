import { isJsonObject, wellFormedJson } from './json.ts';
import type { Sliced } from '../async/event-loop.ts';

/** Approximate characters per step: a fraction of a millisecond. */
const STEP_CHARS = 64 * 1024;
/** The cost of a value besides its text. */
const VALUE_CHARS = 4;

/** `JSON.stringify` is recursive: with fewer lists and objects than this, it cannot overflow the stack. */
const MAX_PLAIN_OBJECTS = 1_000;

/** Whether a value is too heavy for `JSON.stringify`: roughly longer than this, or possibly nested too deeply. */
export const isHeavy = (value: unknown, chars: number): boolean => exceeds(value, chars, MAX_PLAIN_OBJECTS);

/** Whether the JSON of a value is roughly longer than this. Stops at the limit. */
export const isLongerThan = (value: unknown, chars: number): boolean => exceeds(value, chars, Infinity);

const exceeds = (value: unknown, chars: number, maxObjects: number): boolean => {
  let room = chars;
  let objects = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    room -= typeof one === 'string' ? one.length : VALUE_CHARS;
    if (room < 0) return true;
    if (typeof one !== 'object' || one === null) continue;
    objects += 1;
    if (objects > maxObjects) return true;
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
 * Serialises JSON in steps to consecutive pieces of text, equal to `wellFormedJson` for values that came from JSON. A
 * value of many megabytes would block the event loop.
 */
export function* writeJsonSteps(value: unknown, stepChars = STEP_CHARS): Sliced<readonly string[]> {
  const writer = new JsonWriter(stepChars);
  yield* writer.write(value);
  return writer.end();
}

/** A list or object being written. */
interface OpenValue {
  readonly close: ']' | '}';
  /** Elements of a list have no name. */
  readonly members: Iterator<readonly [name: string | null, value: unknown]>;
  isEmpty: boolean;
}

class JsonWriter {
  readonly #stepChars: number;
  readonly #pieces: string[] = [];
  #piece = '';

  constructor(stepChars: number) {
    this.#stepChars = stepChars;
  }

  /** Iterative: a value may be nested deeper than the call stack. */
  *write(root: unknown): Sliced<void> {
    const open: OpenValue[] = [];
    for (let next: { readonly value: unknown } | null = { value: root }; next !== null;) {
      const { value } = next;
      const isSplit = isHeavy(value, this.#stepChars);
      if (isSplit && typeof value === 'string') yield* this.#string(value);
      else if (isSplit && Array.isArray(value)) open.push(this.#begin('[', ']', elementsOf(value)));
      else if (isSplit && isJsonObject(value)) open.push(this.#begin('{', '}', membersOf(value)));
      else this.#add(value === undefined ? 'null' : wellFormedJson(value));
      yield;
      next = this.#next(open);
    }
  }

  end(): readonly string[] {
    if (this.#piece !== '') this.#pieces.push(this.#piece);
    return this.#pieces;
  }

  #begin(bracket: string, close: OpenValue['close'], members: OpenValue['members']): OpenValue {
    this.#add(bracket);
    return { close, members, isEmpty: true };
  }

  /** The next value, after writing its comma and name; null when everything is closed. */
  #next(open: OpenValue[]): { readonly value: unknown } | null {
    for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
      const member = innermost.members.next();
      if (member.done === true) {
        this.#add(innermost.close);
        open.pop();
        continue;
      }
      const [name, value] = member.value;
      const comma = innermost.isEmpty ? '' : ',';
      innermost.isEmpty = false;
      this.#add(name === null ? comma : `${comma}${wellFormedJson(name)}:`);
      return { value };
    }
    return null;
  }

  *#string(text: string): Sliced<void> {
    this.#add('"');
    for (let at = 0; at < text.length;) {
      const end = at + this.#stepChars;
      // Keep surrogate pairs together.
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

function* elementsOf(list: readonly unknown[]): Generator<readonly [null, unknown]> {
  for (const element of list) yield [null, element];
}

function* membersOf(object: Readonly<Record<string, unknown>>): Generator<readonly [string, unknown]> {
  for (const member of Object.entries(object)) if (member[1] !== undefined) yield member;
}
