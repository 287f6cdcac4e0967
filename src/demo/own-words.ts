/** Longer texts are cut before they are searched for markup. */
const MAX_CHARS = 256 * 1024;

/** Tags around what the user has typed; a client that uses one puts nothing of the user's outside of it. */
const OF_USER = new Set(['user_query', 'userrequest', 'user_request', 'user_message', 'user_input', 'task']);
/** Single words that clients use as tags and HTML does not. */
const OF_CLIENT = new Set([
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

/** A tag with its name; attributes have a limit, so that a text full of `<` is read once. */
const TAGS = /<(\/?)([A-Za-z][\w-]*)(?:\s[^<>]{0,500})?>/g;

interface Tag {
  readonly name: string;
  readonly isClosing: boolean;
  readonly start: number;
  readonly end: number;
}

/**
 * What the user typed of a message, without the blocks that clients add to it, such as `<current_datetime>…` or
 * `<system-reminder>…`. Elements of HTML and tags that are not closed are the user's.
 */
export const ownWords = (text: string): string => {
  const cut = text.slice(0, MAX_CHARS);
  if (!cut.includes('</')) return cut;
  const wrapped = blocksIn(cut, (name) => OF_USER.has(name));
  if (wrapped.length > 0) {
    return wrapped
      .map(({ start, end }) => withoutBlocks(cut.slice(start, end)))
      .join('\n')
      .trim();
  }
  return withoutBlocks(cut).trim();
};

interface Block {
  /** Of what is between the tags. */
  readonly start: number;
  readonly end: number;
  /** Of the whole block. */
  readonly from: number;
  readonly to: number;
}

const withoutBlocks = (text: string): string => {
  const kept: string[] = [];
  let at = 0;
  for (const { from, to } of blocksIn(text, isOfClient)) {
    kept.push(text.slice(at, from));
    at = to;
  }
  kept.push(text.slice(at));
  return kept.join('').trim();
};

/** No element of HTML that a person writes has such a name. */
const isOfClient = (name: string, written: string): boolean =>
  OF_CLIENT.has(name) || /[_-]/.test(name) || /[a-z][A-Z]/.test(written);

/** The outermost blocks with such a name, from an opening tag to the first that closes it. */
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
