import { isJsonObject } from '../kit/json/json.ts';
import type { Json, JsonObject } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';
import { ownWords } from './own-words.ts';

/** What the demo model looks at in a request. A model of its size need not read books. */
const FIELDS = ['tool_choice', 'reasoning', 'include', 'max_output_tokens'] as const;
/** Tools and schemas: more of them are left out. */
const MAX_SCHEMA_CHARS = 256 * 1024;
const MAX_ITEMS = 200;
const MAX_TEXT_CHARS = 4_096;

/** A request cut down to what the demo model answers to. */
export const essenceOf = (body: JsonObject): JsonObject => ({
  ...Object.fromEntries(FIELDS.map((name) => [name, body[name]])),
  ...lightly('tools', body['tools']),
  ...lightly('text', body['text']),
  input: inputOf(body['input']),
});

/** Whether there is anything in it that a stranger could make the model think about for long. */
export const hasSchemas = ({ tools, text, input }: JsonObject): boolean =>
  (Array.isArray(tools) && tools.length > 0) ||
  isJsonObject(text) ||
  (Array.isArray(input) && input.some(isTools));

/** Without anything that a stranger could make it think about for long. */
export const withoutSchemas = ({ tools: _tools, text: _text, input, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  input: Array.isArray(input) ? input.filter((item) => !isTools(item)) : input,
});

const lightly = (name: string, value: Json | undefined): JsonObject =>
  value === undefined || isLongerThan(value, MAX_SCHEMA_CHARS) ? {} : { [name]: value };

const isTools = (item: Json): boolean => isJsonObject(item) && item['type'] === 'additional_tools';

const inputOf = (input: Json | undefined): Json | undefined => {
  if (!Array.isArray(input))
    return typeof input === 'string' ? ownWords(input).slice(0, MAX_TEXT_CHARS) : input;
  const items = input as readonly Json[];
  const tools = items.slice(0, -MAX_ITEMS).filter(isTools);
  return [...tools, ...inOwnWords(items.slice(-MAX_ITEMS))].flatMap((item) => {
    if (isTools(item)) return isLongerThan(item, MAX_SCHEMA_CHARS) ? [] : [item];
    return [shortened(item)];
  });
};

/** How many messages may hold nothing but markup before the rest is taken as it is. */
const MAX_MARKUP_MESSAGES = 8;

/**
 * The newest message of the user in the user's own words, which is the one that is answered. Messages after it that
 * hold only what a client added are left out.
 */
const inOwnWords = (items: readonly Json[]): readonly Json[] => {
  const kept = [...items];
  for (let left = MAX_MARKUP_MESSAGES; left > 0; left -= 1) {
    const at = kept.findLastIndex(isUserMessage);
    const message = kept[at];
    if (!isJsonObject(message)) break;
    const content = inUserWords(message['content']);
    if (!isEmptyContent(content) || isEmptyContent(message['content'])) {
      kept[at] = { ...message, content };
      break;
    }
    kept.splice(at, 1);
  }
  return kept;
};

const isEmptyContent = (content: Json | undefined): boolean =>
  content === '' || (Array.isArray(content) && content.length === 0);

const isUserMessage = (item: Json): boolean =>
  isJsonObject(item) && (item['type'] ?? 'message') === 'message' && item['role'] === 'user';

/** Parts without any words of the user are left out, unless they had no words from the start. */
const inUserWords = (content: Json | undefined): Json => {
  if (typeof content === 'string') return ownWords(content);
  if (!Array.isArray(content)) return content ?? null;
  return (content as readonly Json[]).slice(0, MAX_ITEMS).flatMap((part): readonly Json[] => {
    if (!isJsonObject(part) || typeof part['text'] !== 'string' || part['text'] === '') return [part];
    const text = ownWords(part['text']);
    return text === '' ? [] : [{ ...part, text }];
  });
};

/** Texts cut, lists too; nothing in a conversation nests deeper than its parts. */
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
