const LF = 0x0a;
const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const EMPTY = new Uint8Array(0);

/**
 * Rewrites a CR without LF as LF and drops byte order marks at the start of an event stream. The standard allows both.
 * codex holds back an event that ends in CR, because LF may follow, so it loses the last one; after a byte order mark
 * it reads no event at all.
 */
export class LineFeeds {
  /** The first bytes of the stream while they may be a byte order mark; null: decided. */
  #start: Uint8Array | null = EMPTY;
  #endedInCr = false;

  push(chunk: Uint8Array): Uint8Array {
    const bytes = this.#start === null ? chunk : this.#afterMark(Buffer.concat([this.#start, chunk]));
    const rest = this.#endedInCr && bytes[0] === LF ? bytes.subarray(1) : bytes;
    if (bytes.length > 0) this.#endedInCr = bytes.at(-1) === CR;
    if (!rest.includes(CR)) return rest;
    const text = Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength).toString('latin1');
    // At the end of a chunk it is a line end in any case: an LF that follows is dropped.
    return Buffer.from(text.replaceAll(/\r(?!\n)/g, '\n'), 'latin1');
  }

  /** There may be several: the app-server reads no event after any of them. */
  #afterMark(bytes: Buffer): Uint8Array {
    const { length } = BYTE_ORDER_MARK;
    let rest = bytes;
    while (BYTE_ORDER_MARK.equals(rest.subarray(0, length))) rest = rest.subarray(length);
    const isOpen = BYTE_ORDER_MARK.subarray(0, rest.length).equals(rest);
    this.#start = isOpen ? rest : null;
    return isOpen ? EMPTY : rest;
  }
}
