/** The output of a command, kept within limits: its beginning and its end. */
export interface Output extends OutputEnds {
  /** Of everything that arrived. */
  readonly chars: number;
  /** The start of an escape sequence or of a line end whose rest has not arrived. */
  readonly rest: string;
}

interface OutputEnds {
  readonly head: readonly OutputBlock[];
  readonly tail: readonly OutputBlock[];
  /** What lay between the head and the tail, and is not kept. */
  readonly droppedChars: number;
}

/** A piece of the output that is rendered at once. Only the last one still grows. */
export interface OutputBlock extends StyledText {
  readonly id: number;
}

interface StyledText {
  /** Printable text, line ends, and escape sequences of colours. */
  readonly text: string;
  /** The classes of the text where it begins. */
  readonly style: string;
}

export interface Span {
  readonly id: number;
  readonly text: string;
  readonly style: string;
}

export const HEAD_CHARS = 48 * 1024;
export const TAIL_CHARS = 160 * 1024;
const BLOCK_CHARS = 8 * 1024;
/** A longer sequence is text. */
const MAX_REST_CHARS = 512;

export const NO_OUTPUT: Output = { head: [], tail: [], chars: 0, droppedChars: 0, rest: '' };

/* oxlint-disable no-control-regex -- Control characters are what these expressions find. */
const UNFINISHED =
  /(?:\r|\u001B(?:\[[0-?]*[ -/]*|\][^\u0007\u001B]*\u001B?|[PX^_][^\u001B]*\u001B?|[ -/]+)?)$/;
const STRINGS = /\u001B(?:\][^\u0007\u001B]*(?:\u0007|\u001B\\)|[PX^_][^\u001B]*\u001B\\)/g;
const MOVES = /\u001B\[[0-?]*[ -/]*[@-ln-~]/g;
const OTHER_ESCAPES = /\u001B(?!\[[0-9;:]*m)(?:[ -/]*[0-Z\\-~])?/g;
const CONTROLS = /[\u0000-\u0008\u000B-\u000C\u000E-\u001A\u001C-\u001F\u007F-\u009F]/g;
const COLOURS = /\u001B\[([0-9;:]*)m/g;
/* oxlint-enable no-control-regex */

const withoutControls = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll(STRINGS, '')
    .replaceAll(MOVES, '')
    .replaceAll(OTHER_ESCAPES, '')
    .replaceAll(CONTROLS, '');

/** A lone carriage return begins the line again, as progress bars do. Colours that were set on it stay. */
const overwritten = (text: string): string =>
  text.includes('\r')
    ? text
        .split('\n')
        .map((line) => {
          const at = line.lastIndexOf('\r');
          if (at === -1) return line;
          const colours = line.slice(0, at).match(COLOURS)?.at(-1) ?? '';
          return colours + line.slice(at + 1);
        })
        .join('\n')
    : text;

/** Adds text that has arrived. */
export const withText = (output: Output, added: string): Output => {
  const arrived = output.rest + added;
  const unfinished = UNFINISHED.exec(arrived)?.[0] ?? '';
  const rest = unfinished.length > MAX_REST_CHARS ? '' : unfinished;
  const text = withoutControls(arrived.slice(0, arrived.length - rest.length));
  const all = [...output.head, ...output.tail];
  const last = all.at(-1);
  const isOpen = last !== undefined && last.text.length < BLOCK_CHARS;
  const closed = isOpen ? all.slice(0, -1) : all;
  const open = isOpen ? last : { id: (last?.id ?? 0) + 1, text: '', style: styleAfter(last) };
  const blocks = [...closed, ...cut({ ...open, text: overwritten(open.text + text) })];
  return { ...bounded(blocks, output), chars: output.chars + added.length, rest };
};

export const outputOf = (text: string): Output => withText(NO_OUTPUT, text);

export const keptChars = ({ head, tail }: Output): number => charsOf(head) + charsOf(tail);

/** Keeps only the first and the last block of an output to which nothing is added any more. */
export const trimmed = (output: Output): Output => {
  const blocks = [...output.head, ...output.tail];
  if (blocks.length < 3) return output;
  const less = { ...output, head: blocks.slice(0, 1), tail: blocks.slice(-1) };
  return { ...less, droppedChars: output.droppedChars + keptChars(output) - keptChars(less) };
};

/** The characters of blocks, with the escape sequences of colours. */
export const charsOf = (blocks: readonly OutputBlock[]): number =>
  blocks.reduce((sum, { text }) => sum + text.length, 0);

/** Blocks of limited size, at ends of lines where there are some. */
const cut = (block: OutputBlock): readonly OutputBlock[] => {
  const blocks: OutputBlock[] = [];
  let { id, text, style } = block;
  let from = 0;
  while (text.length - from > BLOCK_CHARS) {
    const to = placeToCut(text, from);
    const piece = { id, text: text.slice(from, to), style };
    blocks.push(piece);
    style = styleAfter(piece);
    id += 1;
    from = to;
  }
  text = text.slice(from);
  return text === '' && blocks.length > 0 ? blocks : [...blocks, { id, text, style }];
};

const placeToCut = (text: string, from: number): number => {
  const most = from + BLOCK_CHARS;
  const line = text.lastIndexOf('\n', most - 1);
  if (line > from) return line + 1;
  const escape = text.lastIndexOf('\u001B', most);
  if (escape > from && !text.slice(escape, most).includes('m')) return escape;
  // Not between the two halves of a character.
  return /[\uD800-\uDBFF]/.test(text[most - 1] ?? '') ? most - 1 : most;
};

/** The first blocks are the head; of the others, only the last are kept. */
const bounded = (
  blocks: readonly OutputBlock[],
  { droppedChars: before, head: oldHead }: Output,
): OutputEnds => {
  let headLength = oldHead.length;
  let headChars = charsOf(blocks.slice(0, headLength));
  // oxlint-disable-next-line no-unmodified-loop-condition -- Once something was dropped, the head is complete.
  while (before === 0 && headLength < blocks.length && headChars < HEAD_CHARS) {
    headChars += blocks[headLength]?.text.length ?? 0;
    headLength += 1;
  }
  const tail = blocks.slice(headLength);
  let tailChars = charsOf(tail);
  let droppedChars = before;
  let first = 0;
  while (tailChars > TAIL_CHARS && first < tail.length - 1) {
    const chars = tail[first]?.text.length ?? 0;
    tailChars -= chars;
    droppedChars += chars;
    first += 1;
  }
  return { head: blocks.slice(0, headLength), tail: tail.slice(first), droppedChars };
};

/** The classes after a block. */
const styleAfter = (block: OutputBlock | undefined): string =>
  block === undefined ? '' : (spansOf(block).at(-1)?.style ?? block.style);

/** The pieces of a block with their classes. A last piece, which may be empty, has the classes after the block. */
export const spansOf = ({ text, style }: StyledText): readonly Span[] => {
  const spans: Span[] = [];
  let current = style;
  let from = 0;
  for (const match of text.matchAll(COLOURS)) {
    if (match.index > from) spans.push({ id: from, text: text.slice(from, match.index), style: current });
    current = afterCodes(current, match[1] ?? '');
    from = match.index + match[0].length;
  }
  return [...spans, { id: from, text: text.slice(from), style: current }];
};

const COLOUR = /^ansi-\d+$/;

/** The classes after the codes of an escape sequence, such as `1;31`. Backgrounds have no effect. */
const afterCodes = (style: string, codes: string): string => {
  const classes = new Set(style.split(' ').filter((name) => name !== ''));
  const setColour = (code: number | null): void => {
    for (const name of classes) if (COLOUR.test(name)) classes.delete(name);
    if (code !== null) classes.add(`ansi-${code}`);
  };
  const all = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < all.length; at += 1) {
    const code = all[at] ?? 0;
    if (code === 0) classes.clear();
    else if (code === 1) classes.add('ansi-bold');
    else if (code === 2) classes.add('ansi-dim');
    else if (code === 4) classes.add('ansi-underline');
    else if (code === 22) for (const name of ['ansi-bold', 'ansi-dim']) classes.delete(name);
    else if (code === 24) classes.delete('ansi-underline');
    else if (code === 39) setColour(null);
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) setColour(code);
    else if (code === 38 || code === 48) {
      const isIndexed = all[at + 1] === 5;
      if (code === 38) setColour(isIndexed ? indexedColour(all[at + 2] ?? 0) : null);
      at += isIndexed ? 2 : 4;
    }
  }
  return [...classes].toSorted().join(' ');
};

/** Of the 256 colours, the first 16 have names. */
const indexedColour = (index: number): number | null =>
  index < 8 ? 30 + index : index < 16 ? 90 + index - 8 : null;
