/**
 * Splits a byte stream into lines. It splits bytes: a newline byte never occurs inside a UTF-8 sequence, so everything
 * before the last newline of a chunk can be decoded at once, without streaming state and as one string per chunk.
 */
export interface LineDecoder {
  /** The lines that this chunk completes, without their line ends (LF or CRLF). */
  push(chunk: Uint8Array): readonly string[];
  /** The text after the last line end, if any. Resets the decoder. */
  end(): readonly string[];
}

const LF = 0x0a;

export const createLineDecoder = (): LineDecoder => {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let pending: Uint8Array[] = [];

  const take = (last: Uint8Array): string => {
    if (pending.length === 0) return decoder.decode(last);
    const text = decoder.decode(concatenate([...pending, last]));
    pending = [];
    return text;
  };

  return {
    push: (chunk) => {
      const end = chunk.lastIndexOf(LF);
      if (end === -1) {
        if (chunk.length > 0) pending.push(chunk);
        return [];
      }
      const text = take(chunk.subarray(0, end));
      if (end + 1 < chunk.length) pending.push(chunk.subarray(end + 1));
      return toLines(text);
    },
    end: () => (pending.length === 0 ? [] : toLines(take(new Uint8Array(0)))),
  };
};

const concatenate = (parts: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
};

const toLines = (text: string): readonly string[] => {
  const lines = text.split('\n');
  // One check of the whole text is cheaper than one per line, and CRLF is rare.
  if (!text.includes('\r')) return lines;
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
};
