import { CLOSING, OPENING } from './use-tool-block.ts';

/** Where in a piece of text a `<use_tool>` block begins (below 0: in the piece before it), or what it held where it ends. */
export type BlockMark =
  | { readonly kind: 'opened'; readonly at: number }
  /** `inner` is null where it was too long to be kept. */
  | { readonly kind: 'closed'; readonly at: number; readonly inner: string | null };

/** A longer block is no call: nobody would take its arguments apart. */
const MAX_INNER_CHARS = 1024 * 1024;

/**
 * Finds blocks in a text that comes in pieces, however it is cut. The text itself is not held: only the
 * beginning of a tag is, and what stands in the block that is open.
 */
export class BlockScan {
  /** The end of the text so far that may be the beginning of the next tag. */
  #carry = '';
  #inner: string | null = null;
  #isInside = false;

  /** Whether the text so far ends in a block. */
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

  /** The text is over. What stands in a block that was not closed counts all the same; null: there is none. */
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

/** How much of the end of a text, from here on, is the beginning of a tag. */
const overlap = (text: string, from: number, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length - from); length > 0; length -= 1) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
};
