import { append } from '../../kit/append.ts';
import type { Steps } from '../../kit/loop-turns.ts';
import { FENCE_TICKS, MAX_FENCE_WORD, OpenBlock } from './open-block.ts';
import { CLOSING, OPENING, type WrittenCall } from './written-call.ts';

/** What became of the next characters of a text. Together the pieces are the whole text, in its order. */
export type Piece =
  | { readonly kind: 'text'; readonly text: string }
  /** So many characters are no text: a block with its calls, or what belongs to one. */
  | { readonly kind: 'cut'; readonly chars: number; readonly calls: readonly WrittenCall[] };

/** So many characters are looked at before others get their turn. */
const STEP_CHARS = 16 * 1024;
/** A block beyond this is text. */
export const MAX_BLOCK_CHARS = 4 * 1024 * 1024;
/** Spaces between a fence and a block. */
const MAX_FENCE_SPACE = 64;
/** What may become the beginning of a block, or of what is left of one. */
interface Opener {
  readonly stage: 'ticks' | 'word' | 'space' | 'opening' | 'closing';
  readonly count: number;
  readonly hasFence: boolean;
}

/** A block that is not closed yet. */
interface Block {
  readonly state: OpenBlock;
  /** Of what came before the current input. */
  before: string;
  /** Where it begins in the current input. */
  from: number;
}

interface Input {
  readonly text: string;
  at: number;
}

const PLAIN_END = /[<`]/g;
const STRING_END = /["\\]/g;

/**
 * Takes `<tool_call>` blocks out of a text that comes in pieces. It goes from character to character,
 * so it does not matter how the text is cut; only what may become a block is held back. What turns
 * out to be none is text again from its tag on, and is looked at once more behind that: another
 * block can only begin inside of a string of it, so each character is looked at a few times at most.
 */
export class BlockReader {
  #pieces: Piece[] = [];
  /** White space at the beginning of a stretch of text: whether it only separates blocks is not known. */
  #space = '';
  #isBlank = true;
  #match = '';
  #opener: Opener | null = null;
  #block: Block | null = null;
  #isBehindBlock = false;
  #isFenceOpen = false;
  /** The character before this one ended a block. */
  #hasJustClosed = false;

  *read(delta: string): Steps<readonly Piece[]> {
    yield* this.#run(delta);
    return this.#taken();
  }

  /** The text is over: what is held back is none of a block. */
  *end(): Steps<readonly Piece[]> {
    while (this.#block !== null) yield* this.#run(this.#giveUp(this.#block));
    if (this.#opener !== null) this.#release();
    else if (this.#isBehindBlock) this.#cut(this.#space.length);
    else this.#say(this.#space);
    this.#space = '';
    return this.#taken();
  }

  #taken(): readonly Piece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  /** The last input is read first. What is looked at once more may be long, so it is read in steps. */
  *#run(text: string): Steps<void> {
    const inputs = inSteps(text);
    for (let input = inputs.at(-1); input !== undefined; input = inputs.at(-1)) {
      if (input.at >= input.text.length) {
        if (this.#block !== null) {
          this.#block.before += input.text.slice(this.#block.from);
          this.#block.from = 0;
        }
        inputs.pop();
        yield;
      } else if (this.#block === null) this.#readText(input);
      else this.#readBlock(this.#block, input, inputs);
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
    const char = text.charAt(input.at);
    input.at += 1;
    if (this.#opener !== null) {
      this.#continue(this.#opener, char, input);
      return;
    }
    if (this.#isBlank && char.trim() === '') {
      this.#space += char;
      this.#hasJustClosed = false;
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

  /** Most tags come in one piece: then nothing is held back. */
  #isTagKnown(input: Input): boolean {
    const end = input.at - 1 + OPENING.length;
    if (end > input.text.length || (this.#isBlank && this.#isBehindBlock)) return false;
    const tag = input.text.slice(input.at - 1, end);
    const isOpening = tag.toLowerCase() === OPENING;
    this.#match = isOpening ? tag : '<';
    if (isOpening) {
      input.at = end;
      this.#open(end);
    } else this.#release();
    return true;
  }

  #hold(char: string, opener: Opener): void {
    this.#match += char;
    this.#opener = opener;
  }

  #continue(opener: Opener, char: string, input: Input): void {
    const next = this.#next(opener, char);
    if (next === null) {
      this.#release();
      // It may begin another one.
      input.at -= 1;
      return;
    }
    this.#hold(char, next);
    const { stage, count } = next;
    if (stage === 'opening' && count === OPENING.length) this.#open(input.at);
    else if (stage === 'closing' && count === CLOSING.length) {
      this.#drop();
      this.#hasJustClosed = true;
    } else if (stage === 'ticks' && count === FENCE_TICKS && this.#isBlank && this.#isFenceOpen) {
      this.#drop();
      this.#isFenceOpen = false;
    }
  }

  #next({ stage, count, hasFence }: Opener, char: string): Opener | null {
    const lower = char.toLowerCase();
    if (stage === 'opening' && lower === OPENING[count]) return { stage, count: count + 1, hasFence };
    if (stage === 'opening' && count === 1 && char === '/' && this.#isBlank && this.#isBehindBlock) {
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
  }

  #open(at: number): void {
    this.#block = { state: new OpenBlock(), before: '', from: at };
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
      if (calls !== null) {
        input.at = end;
        this.#close(source, calls);
      } else if (block.before === '') {
        input.at = block.from;
        this.#giveUp(block);
      } else {
        input.at = end;
        block.before = source;
        append(inputs, inSteps(this.#giveUp(block)));
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
    this.#isBehindBlock = true;
    this.#hasJustClosed = true;
  }

  /** It is no block: its tag is text. What stood behind that is given back. */
  #giveUp(block: Block): string {
    this.#block = null;
    this.#release();
    return block.before;
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

  /** What was held back belongs to the block before it. */
  #drop(): void {
    this.#cut(this.#space.length + this.#match.length);
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

/** The last one is the beginning of the text. */
const inSteps = (text: string): Input[] => {
  const inputs: Input[] = [];
  for (let at = 0; at < text.length; at += STEP_CHARS) {
    inputs.push({ text: text.slice(at, at + STEP_CHARS), at: 0 });
  }
  return inputs.toReversed();
};

/** Where the string under way ends, or else the last character of the text. */
const stringEnd = (text: string, at: number): number => {
  STRING_END.lastIndex = at;
  return STRING_END.exec(text)?.index ?? text.length - 1;
};
