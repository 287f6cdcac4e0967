import { append } from '../../kit/collections/lists.ts';
import type { Sliced } from '../../kit/async/event-loop.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { CLOSING, OPENING, readCalls, type WrittenCall } from './written-call.ts';

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
class JsonScan {
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

/** Other characters allowed between the JSON of a block and its end. */
const MAX_TRAILING_CHARS = 256;
const MAX_VALUES = 128;
const FENCE_TICKS = 3;
const MAX_FENCE_WORD = 16;

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

/** Whether the model finished the text, or a limit, a stop or a failure cut it off. */
export type TextEnd = 'finished' | 'cut-off';

/** Text that may become the opening of a block, with a fence before it, or a second closing tag. */
interface Opener {
  readonly stage: 'ticks' | 'word' | 'space' | 'opening' | 'closing';
  readonly count: number;
  readonly hasFence: boolean;
}

const MAX_FENCE_SPACE = 64;
/** A closing tag of this length cannot become anything else. */
const SURE_TAG_CHARS = '</tool'.length;

/** The opener with one more character; null: it is text. After a block the tag may also be a closing one. */
const nextOpener = (
  { stage, count, hasFence }: Opener,
  char: string,
  isAfterBlock: boolean,
): Opener | null => {
  const lower = char.toLowerCase();
  if (stage === 'opening' && lower === OPENING[count]) return { stage, count: count + 1, hasFence };
  if (stage === 'opening' && count === 1 && char === '/' && isAfterBlock) {
    return { stage: 'closing', count: 2, hasFence: false };
  }
  if (stage === 'closing' && lower === CLOSING[count]) return { stage, count: count + 1, hasFence };
  if (stage === 'opening' || stage === 'closing') return null;
  if (stage === 'ticks' && count < FENCE_TICKS) {
    return char === '`' ? { stage, count: count + 1, hasFence } : null;
  }
  if (char === '<') return { stage: 'opening', count: 1, hasFence: true };
  const sofar = (other: Opener['stage']): number => (stage === other ? count : 0);
  if (char.trim() === '') {
    return sofar('space') < MAX_FENCE_SPACE
      ? { stage: 'space', count: sofar('space') + 1, hasFence: true }
      : null;
  }
  const isWord = stage !== 'space' && /^[\w-]$/.test(char) && sofar('word') < MAX_FENCE_WORD;
  return isWord ? { stage: 'word', count: sofar('word') + 1, hasFence: true } : null;
};

/** What an unfinished tag at the end of the text is: the rest of a finished block, half a block, or text (null). */
const unfinishedTag = ({ stage, count }: Opener, how: TextEnd): 'cut' | 'half' | null => {
  if (stage === 'opening') return how === 'cut-off' ? 'half' : null;
  const isSure = how === 'cut-off' || count >= SURE_TAG_CHARS;
  return stage === 'closing' && isSure ? 'cut' : null;
};

/** A piece of a text. Together the pieces are the whole text, in order. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  /** Characters of a block with its calls, or that belong to one. */
  | { readonly kind: 'cut'; readonly chars: number; readonly calls: readonly WrittenCall[] }
  /** Characters of an unfinished block in which the text was cut off. */
  | { readonly kind: 'half'; readonly chars: number };

/** Characters to read before other requests get their share of the loop. */
const STEP_CHARS = 16 * 1024;
/** A longer block is text. */
export const MAX_BLOCK_CHARS = 4 * 1024 * 1024;
/**
 * Limits how much is read twice. An invalid block is read again as text, because other blocks may begin in it. All of
 * them together may be this many times as long as the text so far; beyond that, tags inside them are text.
 */
const MAX_REREAD = 8;

/** A block that is not closed yet. */
interface Block {
  readonly state: OpenBlock;
  /** The position after its tag, in the whole text. */
  readonly start: number;
  /** Its text before the current input. */
  before: string;
  /** Where its text continues in the current input. */
  from: number;
}

interface Input {
  readonly text: string;
  /** Its position in the whole text. */
  readonly start: number;
  at: number;
}

const PLAIN_END = /[<`]/g;
const SPACE_END = /\S/g;
const STRING_END = /["\\]/g;

/**
 * Takes `<tool_call>` blocks out of a text that comes in deltas; how it is split does not matter. Only what may become a
 * block is held back. The tag of an invalid block is text, and what follows it is read again, within a limit.
 */
export class BlockReader {
  #pieces: Piece[] = [];
  /** White space before a text, held back because it may only separate blocks. */
  #space = '';
  #isBlank = true;
  #match = '';
  #opener: Opener | null = null;
  #block: Block | null = null;
  #isAfterBlock = false;
  #isFenceOpen = false;
  /** The previous character closed a block. */
  #hasJustClosed = false;
  /** Length of the text so far. */
  #length = 0;
  /** The text was read at least once up to here. */
  #seen = 0;
  /** Total length of invalid blocks. */
  #givenUp = 0;

  /** Whether the text so far ends in what may be a part of a block. */
  get isUnfinished(): boolean {
    return this.#block !== null || this.#opener !== null;
  }

  *read(delta: string): Sliced<readonly Piece[]> {
    const start = this.#length;
    this.#length += delta.length;
    yield* this.#run(inSteps(delta, start));
    return this.#taken();
  }

  /**
   * Ends the text. If the model finished it, the end closes a block whose JSON is complete, and every other unfinished
   * block is text. If it was cut off, the unfinished block is never shown: it is a part of a call.
   */
  *end(how: TextEnd): Sliced<readonly Piece[]> {
    while (this.#block !== null) {
      const block = this.#block;
      if (how === 'cut-off') {
        this.#drop('half', block.before.length);
        break;
      }
      const calls = block.state.isJsonComplete ? block.state.callsIn(block.before) : null;
      if (calls !== null) this.#close(block.before, calls);
      else {
        this.#giveUp(block, block.before);
        yield* this.#run(inSteps(block.before, block.start));
      }
    }
    const tag = this.#opener === null ? null : unfinishedTag(this.#opener, how);
    if (tag !== null) this.#drop(tag);
    else if (this.#opener !== null) this.#release();
    else if (this.#isAfterBlock) this.#cut(this.#space.length);
    else this.#say(this.#space);
    this.#space = '';
    return this.#taken();
  }

  #taken(): readonly Piece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  /** Reads the last input first. */
  *#run(inputs: Input[]): Sliced<void> {
    for (let input = inputs.at(-1); input !== undefined; input = inputs.at(-1)) {
      if (input.at >= input.text.length) {
        inputs.pop();
        if (this.#block !== null) {
          this.#block.before += input.text.slice(this.#block.from);
          // The next input may have been read in part.
          this.#block.from = inputs.at(-1)?.at ?? 0;
        }
        yield;
      } else if (this.#block === null) this.#readText(input);
      else {
        this.#readBlock(this.#block, input, inputs);
        yield;
      }
    }
  }

  #readText(input: Input): void {
    const { text } = input;
    if (this.#opener === null && !this.#isBlank) {
      PLAIN_END.lastIndex = input.at;
      const end = PLAIN_END.exec(text)?.index ?? text.length;
      this.#say(text.slice(input.at, end));
      input.at = end;
      if (end === text.length) return;
    }
    if (this.#opener === null && this.#isBlank && this.#skipSpace(input)) return;
    const char = text.charAt(input.at);
    input.at += 1;
    if (this.#opener !== null) {
      this.#continue(this.#opener, char, input);
      return;
    }
    if (char === '>' && this.#hasJustClosed) {
      this.#cut(1);
      return;
    }
    if (char === '<' && this.#isTagKnown(input)) return;
    if (char === '<') this.#hold(char, { stage: 'opening', count: 1, hasFence: false });
    else if (char === '`') this.#hold(char, { stage: 'ticks', count: 1, hasFence: false });
    else {
      this.#match = char;
      this.#release();
    }
  }

  /** Takes white space as one slice: a string built from single characters takes many times its length in memory. */
  #skipSpace(input: Input): boolean {
    SPACE_END.lastIndex = input.at;
    const end = SPACE_END.exec(input.text)?.index ?? input.text.length;
    if (end === input.at) return false;
    this.#space += input.text.slice(input.at, end);
    this.#hasJustClosed = false;
    input.at = end;
    return true;
  }

  /** Recognises a tag that is whole in the input, as most are: then nothing is held back. */
  #isTagKnown(input: Input): boolean {
    const end = input.at - 1 + OPENING.length;
    if (end > input.text.length || (this.#isBlank && this.#isAfterBlock)) return false;
    const tag = input.text.slice(input.at - 1, end);
    const isOpening = tag.toLowerCase() === OPENING;
    this.#match = isOpening ? tag : '<';
    if (isOpening) {
      input.at = end;
      this.#open(input);
    } else this.#release();
    return true;
  }

  #hold(char: string, opener: Opener): void {
    this.#match += char;
    this.#opener = opener;
  }

  #continue(opener: Opener, char: string, input: Input): void {
    const next = nextOpener(opener, char, this.#isBlank && this.#isAfterBlock);
    if (next === null) {
      this.#release();
      // The character may begin another opener.
      input.at -= 1;
      return;
    }
    this.#hold(char, next);
    const { stage, count } = next;
    if (stage === 'opening' && count === OPENING.length) this.#open(input);
    else if (stage === 'closing' && count === CLOSING.length) {
      this.#drop('cut');
      this.#hasJustClosed = true;
    } else if (stage === 'ticks' && count === FENCE_TICKS && this.#isBlank && this.#isFenceOpen) {
      this.#drop('cut');
      this.#isFenceOpen = false;
    }
  }

  #open({ start, at }: Input): void {
    const place = start + at;
    const isReread = place < this.#seen;
    // Depends on positions in the text only, so how the text is split makes no difference.
    if (isReread && this.#givenUp > MAX_REREAD * place) this.#release();
    else this.#block = { state: new OpenBlock(), start: place, before: '', from: at };
  }

  #readBlock(block: Block, input: Input, inputs: Input[]): void {
    const { text } = input;
    for (; input.at < text.length; input.at += 1) {
      if (block.state.isInString) input.at = stringEnd(text, input.at);
      const offset = block.before.length + input.at - block.from;
      const state = offset < MAX_BLOCK_CHARS ? block.state.step(text.charAt(input.at), offset) : 'broken';
      if (state === 'open') continue;
      const end = state === 'closed' ? input.at + 1 : input.at;
      const source = block.before + text.slice(block.from, end);
      const calls = state === 'closed' ? block.state.callsIn(source) : null;
      const isInInput = block.before === '';
      input.at = calls === null && isInInput ? block.from : end;
      if (calls !== null) this.#close(source, calls);
      else {
        this.#giveUp(block, source);
        if (!isInInput) append(inputs, inSteps(source, block.start));
      }
      return;
    }
  }

  #close(source: string, calls: readonly WrittenCall[]): void {
    this.#isFenceOpen = this.#opener?.hasFence === true || (this.#isFenceOpen && this.#isBlank);
    this.#cut(this.#space.length + this.#match.length + source.length, calls);
    this.#block = null;
    this.#opener = null;
    this.#match = '';
    this.#space = '';
    this.#isBlank = true;
    this.#isAfterBlock = true;
    this.#hasJustClosed = true;
  }

  /** The block is invalid: its tag is text, and the caller reads its source again. */
  #giveUp({ start }: Block, source: string): void {
    this.#block = null;
    this.#seen = Math.max(this.#seen, start + source.length);
    this.#givenUp += source.length;
    this.#release();
  }

  /** What was held back is text. */
  #release(): void {
    this.#say(this.#space + this.#match);
    this.#space = '';
    this.#match = '';
    this.#opener = null;
    this.#isBlank = false;
    this.#isFenceOpen = false;
    this.#hasJustClosed = false;
  }

  /** What was held back belongs to the block before it, or to an unfinished one. */
  #drop(kind: 'cut' | 'half', more = 0): void {
    const chars = this.#space.length + this.#match.length + more;
    if (kind === 'cut') this.#cut(chars);
    else this.#pieces.push({ kind, chars });
    this.#block = null;
    this.#space = '';
    this.#match = '';
    this.#opener = null;
  }

  #say(text: string): void {
    const last = this.#pieces.at(-1);
    if (text === '') return;
    if (last?.kind === 'text')
      this.#pieces[this.#pieces.length - 1] = { kind: 'text', text: last.text + text };
    else this.#pieces.push({ kind: 'text', text });
  }

  #cut(chars: number, calls: readonly WrittenCall[] = []): void {
    if (chars > 0) this.#pieces.push({ kind: 'cut', chars, calls });
  }
}

/** Splits a text; the last input is the beginning of the text. */
const inSteps = (text: string, start: number): Input[] => {
  const inputs: Input[] = [];
  for (let at = 0; at < text.length; at += STEP_CHARS) {
    inputs.push({ text: text.slice(at, at + STEP_CHARS), start: start + at, at: 0 });
  }
  return inputs.toReversed();
};

/** The end of the current string, or the last character of the text. */
const stringEnd = (text: string, at: number): number => {
  STRING_END.lastIndex = at;
  return STRING_END.exec(text)?.index ?? text.length - 1;
};
