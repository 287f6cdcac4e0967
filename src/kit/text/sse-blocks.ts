/**
 * The server-sent events in a text. A comment belongs to the event after it. Every event ends with an empty line, and
 * none contains one.
 */
export const sseBlocks = (text: string): readonly string[] => {
  const blocks: string[] = [];
  let from = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n\n', at);
    const next = end === -1 ? text.length : end + 2;
    if (text[at] !== ':' || next === text.length) {
      blocks.push(text.slice(from, next));
      from = next;
    }
    at = next;
  }
  return blocks;
};

/** The name of an event; null: it has none. */
export const sseName = (block: string): string | null => /^event: (.*)$/m.exec(block)?.[1] ?? null;
