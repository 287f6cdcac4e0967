export type ScanState = 'open' | 'whole' | 'broken';

/** Deeper than any call; limits the memory of a scan. */
const MAX_DEPTH = 256;
/** Longer than any number. */
const MAX_BARE = 400;
const HEX_DIGITS = 4;

type Expecting =
  | 'value'
  | 'value-or-end'
  | 'key'
  | 'key-or-end'
  | 'colon'
  | 'next-or-end'
  | 'string'
  | 'escape'
  | 'hex'
  | 'bare';

const BARE = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/**
 * Scans one JSON object or list, character by character, and reports at once when it is complete or invalid. Accepts
 * raw line breaks in strings: models write them.
 */
export class JsonScan {
  readonly #open: ('}' | ']')[] = [];
  #expecting: Expecting = 'value';
  /** Whether the current string is the name of a member. */
  #isKey = false;
  #hexDigits = 0;
  #bare = '';

  /** Whether the next character belongs to a string. */
  get isInString(): boolean {
    return this.#expecting === 'string';
  }

  step(char: string): ScanState {
    const expecting = this.#expecting;
    if (expecting === 'string') {
      if (char === '"') this.#expecting = this.#isKey ? 'colon' : 'next-or-end';
      else if (char === '\\') this.#expecting = 'escape';
      return 'open';
    }
    if (expecting === 'escape') {
      this.#expecting = char === 'u' ? 'hex' : 'string';
      this.#hexDigits = 0;
      return '"\\/bfnrtu'.includes(char) ? 'open' : 'broken';
    }
    if (expecting === 'hex') {
      this.#hexDigits += 1;
      if (this.#hexDigits === HEX_DIGITS) this.#expecting = 'string';
      return /^[\dA-Fa-f]$/.test(char) ? 'open' : 'broken';
    }
    if (expecting !== 'bare') return this.#structure(char);
    if (/^[\w+.-]$/.test(char)) {
      this.#bare += char;
      return this.#bare.length > MAX_BARE ? 'broken' : 'open';
    }
    this.#expecting = 'next-or-end';
    return BARE.test(this.#bare) ? this.#structure(char) : 'broken';
  }

  #structure(char: string): ScanState {
    if (' \n\r\t'.includes(char)) return 'open';
    const expecting = this.#expecting;
    if (char === '}' || char === ']') return this.#close(char);
    if (expecting === 'colon' || expecting === 'next-or-end') {
      if (char !== (expecting === 'colon' ? ':' : ',')) return 'broken';
      const isObject = this.#open.at(-1) === '}';
      this.#expecting = expecting === 'next-or-end' && isObject ? 'key' : 'value';
      return 'open';
    }
    const wantsKey = expecting === 'key' || expecting === 'key-or-end';
    if (char === '"') {
      this.#expecting = 'string';
      this.#isKey = wantsKey;
      return 'open';
    }
    if (wantsKey) return 'broken';
    if (char === '{' || char === '[') {
      this.#open.push(char === '{' ? '}' : ']');
      this.#expecting = char === '{' ? 'key-or-end' : 'value-or-end';
      return this.#open.length > MAX_DEPTH ? 'broken' : 'open';
    }
    this.#expecting = 'bare';
    this.#bare = char;
    return /^[\w-]$/.test(char) ? 'open' : 'broken';
  }

  #close(char: '}' | ']'): ScanState {
    const isDue =
      this.#expecting === 'next-or-end' || this.#expecting === (char === '}' ? 'key-or-end' : 'value-or-end');
    if (!isDue || this.#open.pop() !== char) return 'broken';
    this.#expecting = 'next-or-end';
    return this.#open.length === 0 ? 'whole' : 'open';
  }
}
