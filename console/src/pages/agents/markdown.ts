/** A block of a message. Models write Markdown; what this page does not know of it stays text. */
export type MarkdownBlock =
  | { readonly kind: 'code'; readonly text: string; readonly language: string }
  | { readonly kind: 'heading'; readonly text: string }
  | {
      readonly kind: 'list';
      readonly isOrdered: boolean;
      readonly start: number;
      readonly items: readonly ListItem[];
    }
  | { readonly kind: 'text'; readonly text: string };

export interface ListItem {
  readonly text: string;
  /** How far it is indented, from 0. */
  readonly depth: number;
}

const FENCE = /^\s{0,3}(```+|~~~+)\s*([\w+#.-]*)/;
const ITEM = /^(\s*)(?:[-*+]|(\d{1,4})[.)])\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;

/** The blocks of a text, which may still be written: a fence that is not closed reaches to the end. */
export const blocksOf = (text: string): readonly MarkdownBlock[] => {
  const lines = text.split('\n');
  const blocks: MarkdownBlock[] = [];
  let paragraph: string[] = [];
  const close = (): void => {
    if (paragraph.length > 0) blocks.push({ kind: 'text', text: paragraph.join('\n') });
    paragraph = [];
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence !== null) {
      close();
      const end = lines.findIndex((other, index) => index > at && other.trim().startsWith(fence[1] ?? '```'));
      const code = lines.slice(at + 1, end === -1 ? lines.length : end);
      blocks.push({ kind: 'code', text: code.join('\n'), language: fence[2] ?? '' });
      at = end === -1 ? lines.length : end;
    } else if (heading !== null) {
      close();
      blocks.push({ kind: 'heading', text: heading[1] ?? '' });
    } else if (ITEM.test(line)) {
      close();
      const found = listAt(lines, at);
      blocks.push(found.block);
      at = found.last;
    } else if (line.trim() === '') close();
    else paragraph.push(line);
  }
  close();
  return blocks;
};

/** Items that follow each other, with the indented lines that continue them. */
const listAt = (
  lines: readonly string[],
  first: number,
): { readonly block: MarkdownBlock; readonly last: number } => {
  const items: ListItem[] = [];
  const number = ITEM.exec(lines[first] ?? '')?.[2];
  let last = first;
  for (let at = first; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const [, indent = '', itsNumber, text = ''] = ITEM.exec(line) ?? [];
    const before = items.at(-1);
    if (ITEM.test(line)) {
      const depth = Math.min(3, Math.floor(indent.replaceAll('\t', '    ').length / 2));
      if (depth === 0 && (itsNumber === undefined) !== (number === undefined)) break;
      items.push({ text, depth });
    } else if (/^\s{2,}\S/.test(line) && before !== undefined && !FENCE.test(line))
      items[items.length - 1] = { ...before, text: `${before.text}\n${line.trim()}` };
    else break;
    last = at;
  }
  return {
    block: { kind: 'list', isOrdered: number !== undefined, start: Number(number ?? 1), items },
    last,
  };
};

/** A piece of a line. */
export type Inline = { readonly id: number; readonly text: string } & (
  | { readonly kind: 'code' | 'strong' | 'text' }
  /** To an address of the web. */
  | { readonly kind: 'link'; readonly href: string }
);

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

export const inlinesOf = (text: string): readonly Inline[] => {
  const found: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, strong, label, href] = match;
    if (match.index > from) found.push({ id: from, kind: 'text', text: text.slice(from, match.index) });
    const id = match.index;
    if (code !== undefined) found.push({ id, kind: 'code', text: code });
    else if (strong !== undefined) found.push({ id, kind: 'strong', text: strong });
    else if (label !== undefined && href !== undefined) found.push({ id, kind: 'link', text: label, href });
    from = match.index + whole.length;
  }
  return from < text.length ? [...found, { id: from, kind: 'text', text: text.slice(from) }] : found;
};
