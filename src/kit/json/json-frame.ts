/** A list or object that is open, or the place where the outermost value stands. */
export class JsonFrame {
  readonly isObject: boolean;
  readonly start: number;
  /** What was put together so far; null while all of it may still be light. */
  made: unknown[] | Record<string, unknown> | null = null;
  /** Where the text begins that is not part of `made` yet. */
  runStart: number;
  /** How many values there are in that text. */
  runValues = 0;
  members = 1;
  isPastColon = false;
  /** A heavy value was the last thing: only a comma or the end may follow. */
  isAfterHeavy = false;
  /** Where the name of the newest member stands. */
  key: readonly [start: number, end: number] = [0, 0];

  constructor(isObject: boolean, start: number) {
    this.isObject = isObject;
    this.start = start;
    this.runStart = start + 1;
  }
}

/** As `JSON.parse` does it: a member of this name is a member, too. */
export const setOwn = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
};
