import { assertNever } from '../../kit/assert-never.ts';
import { JsonScan } from './json-scan.ts';
import { CLOSING, readCalls, type WrittenCall } from './written-call.ts';

/** Other characters allowed between the JSON of a block and its end. */
const MAX_TRAILING_CHARS = 256;
const MAX_VALUES = 128;
export const FENCE_TICKS = 3;
export const MAX_FENCE_WORD = 16;

/** Scans the text after the opening tag of a block, character by character. */
export class OpenBlock {
  #stage: 'lead' | 'json' | 'tail' | 'closing' = 'lead';
  /** Matched characters of a fence before the JSON, or of the closing tag. */
  #matched = 0;
  #trailing = 0;
  #scan = new JsonScan();
  readonly #values: { readonly from: number; readonly to: number }[] = [];
  #valueFrom = 0;

  /** Whether the next character belongs to a string. */
  get isInString(): boolean {
    return this.#stage === 'json' && this.#scan.isInString;
  }

  /** Whether only the closing tag is missing. */
  get isJsonComplete(): boolean {
    return this.#stage === 'tail' || this.#stage === 'closing';
  }

  /** The state after this character; `offset` counts from the opening tag. */
  step(char: string, offset: number): 'open' | 'closed' | 'broken' {
    switch (this.#stage) {
      case 'json': {
        const state = this.#scan.step(char);
        if (state !== 'whole') return state;
        this.#values.push({ from: this.#valueFrom, to: offset + 1 });
        this.#stage = 'tail';
        return this.#values.length > MAX_VALUES ? 'broken' : 'open';
      }
      case 'closing':
        if (char.toLowerCase() !== CLOSING[this.#matched]) return 'broken';
        this.#matched += 1;
        return this.#matched === CLOSING.length ? 'closed' : 'open';
      case 'lead':
        if (char === '{' || char === '[') return this.#begin(char, offset);
        return this.#leadsIn(char) ? 'open' : 'broken';
      case 'tail':
        if (char === '{' || char === '[') return this.#begin(char, offset);
        if (char === '<') {
          this.#stage = 'closing';
          this.#matched = 1;
          return 'open';
        }
        this.#trailing += char.trim() === '' ? 0 : 1;
        return this.#trailing > MAX_TRAILING_CHARS ? 'broken' : 'open';
      default:
        return assertNever(this.#stage);
    }
  }

  /** The calls of a closed block; null: it contains something else. */
  callsIn(source: string): readonly WrittenCall[] | null {
    const calls = this.#values.map(({ from, to }) => readCalls(source.slice(from, to)));
    return calls.every((list) => list !== null) ? calls.flat() : null;
  }

  #begin(char: string, offset: number): 'open' {
    this.#stage = 'json';
    this.#scan = new JsonScan();
    this.#scan.step(char);
    this.#valueFrom = offset;
    return 'open';
  }

  /** Before its JSON a block may have white space and a fence with a word. */
  #leadsIn(char: string): boolean {
    if (char.trim() === '') return this.#matched === 0 || this.#matched >= FENCE_TICKS;
    this.#matched += 1;
    if (this.#matched <= FENCE_TICKS) return char === '`';
    return /^[\w-]$/.test(char) && this.#matched <= FENCE_TICKS + MAX_FENCE_WORD;
  }
}
