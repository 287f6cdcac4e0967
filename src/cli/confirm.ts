import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';

/** Asks on a terminal. Anything but y or yes is a no, also the end of the input. */
export const confirmOn =
  (input: Readable & { readonly isTTY?: boolean }, output: Writable) =>
  async (question: string): Promise<boolean | null> => {
    if (input.isTTY !== true) return null;
    output.write(`${question} [y/N] `);
    // The terminal edits the line itself, so that Ctrl-C ends this process as usual.
    const lines = createInterface({ input, terminal: false });
    try {
      return await new Promise((resolve) => {
        lines.once('line', (line) => resolve(/^\s*y(?:es)?\s*$/i.test(line)));
        lines.once('close', () => resolve(false));
      });
    } finally {
      lines.close();
    }
  };
