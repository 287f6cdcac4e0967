import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';

/** Fields that the demo model reads, besides tools, text and input. */
const FIELDS = ['tool_choice', 'reasoning', 'include', 'max_output_tokens'] as const;
/** Longer tools and schemas are left out. */
const MAX_SCHEMA_CHARS = 256 * 1024;
const MAX_ITEMS = 200;
const MAX_TEXT_CHARS = 4_096;

/** Reduces a request to the fields that the demo model reads, and limits their length. */
export const shrinkRequest = (body: JsonObject): JsonObject => ({
  ...Object.fromEntries(FIELDS.map((name) => [name, body[name]])),
  ...unlessTooLong('tools', body['tools']),
  ...unlessTooLong('text', body['text']),
  input: inputOf(body['input']),
});

/** Whether the request has tools or schemas, which can be expensive to answer. */
export const hasSchemas = ({ tools, text, input }: JsonObject): boolean =>
  (Array.isArray(tools) && tools.length > 0) ||
  isJsonObject(text) ||
  (Array.isArray(input) && input.some(declaresTools));

/** Removes tools and schemas, so that the answer is cheap to compute. */
export const withoutSchemas = ({ tools: _tools, text: _text, input, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  input: Array.isArray(input) ? input.filter((item) => !declaresTools(item)) : input,
});

const unlessTooLong = (name: string, value: Json | undefined): JsonObject =>
  value === undefined || isLongerThan(value, MAX_SCHEMA_CHARS) ? {} : { [name]: value };

const declaresTools = (item: Json): boolean => isJsonObject(item) && item['type'] === 'additional_tools';

const inputOf = (input: Json | undefined): Json | undefined => {
  if (!Array.isArray(input))
    return typeof input === 'string' ? userText(input).slice(0, MAX_TEXT_CHARS) : input;
  const items = input as readonly Json[];
  const tools = items.slice(0, -MAX_ITEMS).filter(declaresTools);
  return [...tools, ...withUserText(items.slice(-MAX_ITEMS))].flatMap((item) => {
    if (declaresTools(item)) return isLongerThan(item, MAX_SCHEMA_CHARS) ? [] : [item];
    return [shortened(item)];
  });
};

/** Limit on skipped messages that contain only client markup. */
const MAX_MARKUP_MESSAGES = 8;

/**
 * Removes client markup from the newest user message, the one that is answered. Later user messages that
 * contain only markup are dropped.
 */
const withUserText = (items: readonly Json[]): readonly Json[] => {
  const kept = [...items];
  for (let left = MAX_MARKUP_MESSAGES; left > 0; left -= 1) {
    const at = kept.findLastIndex(isUserMessage);
    const message = kept[at];
    if (!isJsonObject(message)) break;
    const content = userContent(message['content']);
    if (!hasNoContent(content) || hasNoContent(message['content'])) {
      kept[at] = { ...message, content };
      break;
    }
    kept.splice(at, 1);
  }
  return kept;
};

const hasNoContent = (content: Json | undefined): boolean =>
  content === '' || (Array.isArray(content) && content.length === 0);

const isUserMessage = (item: Json): boolean =>
  isJsonObject(item) && (item['type'] ?? 'message') === 'message' && item['role'] === 'user';

/** Removes client markup from the content. Parts that become empty are dropped; other parts stay. */
const userContent = (content: Json | undefined): Json => {
  if (typeof content === 'string') return userText(content);
  if (!Array.isArray(content)) return content ?? null;
  return (content as readonly Json[]).slice(0, MAX_ITEMS).flatMap((part): readonly Json[] => {
    if (!isJsonObject(part) || typeof part['text'] !== 'string' || part['text'] === '') return [part];
    const text = userText(part['text']);
    return text === '' ? [] : [{ ...part, text }];
  });
};

/** Truncates texts and lists. The recursion is safe because conversation items nest only a few levels. */
const shortened = (value: Json | undefined): Json => {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT_CHARS);
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map(shortened);
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, MAX_ITEMS)
      .map(([key, member]) => [key, shortened(member)]),
  );
};

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
