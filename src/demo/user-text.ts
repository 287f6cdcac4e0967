/** Longer texts are cut before the search for tags. */
const MAX_CHARS = 256 * 1024;

/** Tags that clients put around the user's text. If one is present, nothing outside it is the user's. */
const USER_TAGS = new Set([
  'user_query',
  'userrequest',
  'user_request',
  'user_message',
  'user_input',
  'task',
]);
/** One-word tags of clients that are not HTML elements. */
const CLIENT_TAGS = new Set([
  'attachment',
  'attachments',
  'context',
  'environment',
  'file',
  'files',
  'instructions',
  'memory',
  'metadata',
  'reminder',
  'rules',
  'system',
]);

/** A tag with its name. The length of attributes is limited to keep the search linear. */
const TAGS = /<(\/?)([A-Za-z][\w-]*)(?:\s[^<>]{0,500})?>/g;

interface Tag {
  readonly name: string;
  readonly isClosing: boolean;
  readonly start: number;
  readonly end: number;
}

/**
 * Removes blocks that clients add to a user message, such as `<current_datetime>…` or `<system-reminder>…`.
 * HTML elements and unclosed tags count as the user's text and stay.
 */
export const userText = (text: string): string => {
  const cut = text.slice(0, MAX_CHARS);
  if (!cut.includes('</')) return cut;
  const wrapped = blocksIn(cut, (name) => USER_TAGS.has(name));
  if (wrapped.length > 0) {
    return wrapped
      .map(({ start, end }) => withoutBlocks(cut.slice(start, end)))
      .join('\n')
      .trim();
  }
  return withoutBlocks(cut).trim();
};

interface Block {
  /** Range of the content between the tags. */
  readonly start: number;
  readonly end: number;
  /** Range of the whole block. */
  readonly from: number;
  readonly to: number;
}

const withoutBlocks = (text: string): string => {
  const kept: string[] = [];
  let at = 0;
  for (const { from, to } of blocksIn(text, isClientTag)) {
    kept.push(text.slice(at, from));
    at = to;
  }
  kept.push(text.slice(at));
  return kept.join('').trim();
};

/** Snake case, kebab case and camel case do not occur in HTML element names. */
const isClientTag = (name: string, written: string): boolean =>
  CLIENT_TAGS.has(name) || /[_-]/.test(name) || /[a-z][A-Z]/.test(written);

/** Finds the outermost blocks with a wanted name, from the opening tag to the first closing tag. */
const blocksIn = (text: string, isWanted: (name: string, written: string) => boolean): readonly Block[] => {
  const tags: Tag[] = [];
  const lastClosing = new Map<string, number>();
  for (const match of text.matchAll(TAGS)) {
    const name = match[2] ?? '';
    if (!isWanted(name.toLowerCase(), name)) continue;
    const tag = { name, isClosing: match[1] === '/', start: match.index, end: match.index + match[0].length };
    tags.push(tag);
    if (tag.isClosing) lastClosing.set(name, tag.start);
  }
  const blocks: Block[] = [];
  let open: Tag | null = null;
  for (const tag of tags) {
    if (open === null) {
      if (!tag.isClosing && (lastClosing.get(tag.name) ?? -1) > tag.start) open = tag;
    } else if (tag.isClosing && tag.name === open.name) {
      blocks.push({ start: open.end, end: tag.start, from: open.start, to: tag.end });
      open = null;
    }
  }
  return blocks;
};
