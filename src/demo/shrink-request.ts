import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { isLongerThan } from '../kit/json/json-writer.ts';
import { userText } from './user-text.ts';

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
