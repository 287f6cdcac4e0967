import { CLOSING, OPENING } from './use-tool-block.ts';

/** The start or end of a `<use_tool>` block. `at` is the index in the delta, negative if the tag began in an earlier delta. */
export type BlockMark =
  | { readonly kind: 'opened'; readonly at: number }
  /** `inner` is the text in the block; null if it is too long. */
  | { readonly kind: 'closed'; readonly at: number; readonly inner: string | null };

/** A longer block is not read as a call. */
const MAX_INNER_CHARS = 1024 * 1024;

/** Finds blocks in streamed text. Buffers only a possible start of a tag and the text of an open block. */
export class BlockScan {
  /** The end of the text so far, if it may be the start of a tag. */
  #carry = '';
  #inner: string | null = null;
  #isInside = false;

  /** Whether a block is open. */
  get isInside(): boolean {
    return this.#isInside;
  }

  read(delta: string): readonly BlockMark[] {
    const marks: BlockMark[] = [];
    const text = this.#carry + delta;
    const before = this.#carry.length;
    let from = 0;
    for (;;) {
      const tag: string = this.#isInside ? CLOSING : OPENING;
      const at = text.indexOf(tag, from);
      const end = at === -1 ? text.length - overlap(text, from, tag) : at;
      if (this.#isInside) this.#keep(text.slice(from, end));
      if (at === -1) {
        this.#carry = text.slice(end);
        return marks;
      }
      from = at + tag.length;
      if (this.#isInside) marks.push({ kind: 'closed', at: from - before, inner: this.#inner });
      else marks.push({ kind: 'opened', at: at - before });
      this.#isInside = !this.#isInside;
      this.#inner = '';
    }
  }

  /** Ends the text. Returns the content of an unclosed block, or null. */
  end(): string | null {
    if (!this.#isInside) return null;
    this.#keep(this.#carry);
    this.#isInside = false;
    this.#carry = '';
    return this.#inner;
  }

  #keep(more: string): void {
    if (this.#inner === null) return;
    this.#inner = this.#inner.length + more.length > MAX_INNER_CHARS ? null : this.#inner + more;
  }
}

/** The length of the longest end of the text that is a prefix of the tag. */
const overlap = (text: string, from: number, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length - from); length > 0; length -= 1) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
};
