/** An open list or object, or the position of the outermost value. */
export class JsonFrame {
  readonly isObject: boolean;
  readonly start: number;
  /** The value built so far; null while all of it may be light. */
  made: unknown[] | Record<string, unknown> | null = null;
  /** The start of the text that is not part of `made` yet. */
  runStart: number;
  /** How many values there were before that text. */
  runValues: number;
  members = 1;
  isPastColon = false;
  /** After a heavy value only a comma or the end may follow. */
  isAfterHeavy = false;
  /** The position of the latest member's name. */
  keyStart = 0;
  keyEnd = 0;

  constructor(isObject: boolean, start: number, values: number) {
    this.isObject = isObject;
    this.start = start;
    this.runStart = start + 1;
    this.runValues = values;
  }
}

/** Sets an own property even for `__proto__`, like `JSON.parse`. */
export const setOwn = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
};
