import { z } from 'zod';

import {
  hasNoContent,
  type HostedCall,
  type Item,
  type ItemNotes,
  type LoadedTools,
  type Message,
  type Opaque,
  type Part,
  type RawItem,
  type ToolCall,
  type ToolOutput,
  type RawPart,
} from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, listIn, present, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { isRandomId, isPlainWebUrl } from '../../../kit/text/patterns.ts';
import {
  idText,
  rejectTooManyParts,
  jsonObject,
  list,
  listOf,
  longText,
  MAX_ID_CHARS,
  MAX_PARTS,
  MAX_TOOLS,
  MAX_TEXT,
} from '../../../apis/bounds.ts';
import {
  withoutBreakpoints,
  breakpointField,
  readBreakpoint,
  fileFields,
  filePart,
} from '../../shared/field-schemas.ts';
import { PLAIN_READERS, readToolList } from '../../shared/read-tools.ts';
import { noteUnread, notAnObject, parseBody, failedOutput, readTagged } from '../../../apis/validation.ts';
import { References, type Recall } from './item-references.ts';
import { isWrappedSummary, unwrapSummary } from '../wrapped-summary.ts';
import { isPlaceholderId } from '../output/layout.ts';
import { gatewayError } from '../../../canonical/failure/failure.ts';

/** The field for codex's metadata of an item. */
const NOTES = 'internal_chat_message_metadata_passthrough';

const idField = z.string().max(MAX_ID_CHARS).nullish();
const statusField = z.string().nullish();
const notes = { [NOTES]: jsonObject.nullish() };

const callerField = jsonObject.nullish();
const head = { id: idField, status: statusField, ...notes };
const callHead = {
  ...head,
  call_id: idText,
  name: idText,
  namespace: z.string().nullish(),
  caller: callerField,
  async: z.boolean().nullish(),
};
const outputHead = { ...head, output: z.unknown(), caller: callerField };

/** Other type names of a compaction that is sent back. */
const COMPACTION_TOO = ['compaction_summary', 'context_compaction'] as const;

/** Only the fields that are read: clients send back complete output items. */
const schemas = {
  message: z.object({
    type: z.literal('message').optional(),
    ...head,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([longText, list(MAX_PARTS)]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
  reasoning: z.object({
    type: z.literal('reasoning'),
    ...head,
    summary: listOf(z.object({ type: z.literal('summary_text'), text: longText }), MAX_PARTS),
    content: listOf(z.object({ type: z.literal('reasoning_text'), text: longText }), MAX_PARTS).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  function_call: z.object({ type: z.literal('function_call'), ...callHead, arguments: longText }),
  custom_tool_call: z.object({ type: z.literal('custom_tool_call'), ...callHead, input: longText }),
  function_call_output: z.object({
    type: z.enum(['function_call_output', 'tool_output']),
    ...outputHead,
    // Without it, the name says which tool the output is from.
    call_id: idText.nullish(),
    name: z.string().nullish(),
    namespace: z.string().nullish(),
  }),
  custom_tool_call_output: z.object({
    type: z.literal('custom_tool_call_output'),
    ...outputHead,
    call_id: idText,
  }),
  compaction: z.object({
    type: z.enum(['compaction', ...COMPACTION_TOO]),
    id: idField,
    ...notes,
    encrypted_content: z.string(),
  }),
  tool_search_output: z.looseObject({ type: z.literal('tool_search_output'), tools: list(MAX_TOOLS) }),
  additional_tools: z.looseObject({
    type: z.literal('additional_tools'),
    role: z.literal('developer'),
    tools: list(MAX_TOOLS),
  }),
  item_reference: z.object({ type: z.literal('item_reference').nullish(), id: idText }),
  /** Items of hosted tools and unknown items, which are passed through. */
  raw: z.looseObject({ type: idText, id: idField }),
} as const;

type ItemType = keyof typeof schemas;
const isItemType = (type: string): type is ItemType => type !== 'raw' && Object.hasOwn(schemas, type);

/** The parsed items, their locations in the body, and the names of unread fields. */
/** Items, and the location of each in the body. */
export interface PlacedItems {
  readonly items: readonly Item[];
  readonly places: readonly string[];
}

export interface ReadItems extends PlacedItems {
  readonly unread: readonly string[];
}

/** `recall` null: nothing is stored. `at`: the name of the list in the body. */
export const readInput = (
  input: string | readonly unknown[],
  recall: Recall | null = null,
  at: 'input' | 'items' = 'input',
): ReadItems => {
  if (typeof input === 'string') {
    const item: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: input }] };
    return { items: [item], places: [at], unread: [] };
  }
  rejectTooManyParts(input, at);
  const reading = { unread: [], references: new References(recall, at) };
  const items: Item[] = [];
  const places: string[] = [];
  for (const [index, value] of input.entries()) {
    const place = `${at}[${index}]`;
    const item = readItem(value, place, reading);
    if (item === null) continue;
    items.push(item);
    places.push(place);
  }
  return { items, places, unread: reading.unread };
};

/** The ids of earlier items that an input refers to, each once. Placeholders have no content to load. */
export const referencesIn = (input: string | readonly unknown[]): readonly string[] => {
  if (typeof input === 'string') return [];
  const ids = new Set<string>();
  for (const value of input) {
    if (!isJsonObject(value)) continue;
    const isReference = (value['type'] ?? untypedAs(value)) === 'item_reference' || isBareReasoning(value);
    const { id } = value;
    if (isReference && typeof id === 'string' && !isPlaceholderId(id)) ids.add(id);
  }
  return [...ids];
};

interface ReadContext {
  readonly unread: string[];
  readonly references: References;
}

/** Parses an item; null if it is empty, such as the placeholder message of the message-first layout. */
const readItem = (value: unknown, at: string, { unread, references }: ReadContext): Item | null => {
  const plain = isJsonObject(value) ? plainMessage(value) : null;
  if (plain !== null) return unlessEmpty(plain);
  const type = typeOf(value, at);
  noteUnread(unread, schemas[type], value, at);
  if (type === 'item_reference') {
    const found = references.resolve(parseBody(schemas.item_reference, value, at).id, at);
    return typeof found === 'string' ? null : unlessEmpty(found);
  }
  const item = translate(type, value, at, unread);
  if (references.hasStore && isBareReasoning(value)) return references.resolveReasoning(value.id, at);
  return unlessEmpty(item);
};

const unlessEmpty = (item: Item): Item | null =>
  item.kind === 'message' && item.role === 'assistant' && hasNoContent(item.parts) ? null : item;

const typeOf = (value: unknown, at: string): ItemType => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const type = value['type'] ?? untypedAs(value);
  const name = parseBody(idText, type, `${at}.type`);
  if (isItemType(name)) return name;
  if (name === 'compaction_summary') return 'compaction';
  if (name === 'tool_output') return 'function_call_output';
  // A backend's own compaction keeps this type.
  if (name === 'context_compaction' && isWrappedSummary(value['encrypted_content'])) return 'compaction';
  return 'raw';
};

/** Infers the type of an untyped item: a message, or a reference, which has only an id. */
const untypedAs = (value: JsonObject): ItemType | undefined => {
  if (value['role'] !== undefined) return 'message';
  return typeof value['id'] === 'string' && Object.keys(value).every((key) => key === 'id' || key === 'type')
    ? 'item_reference'
    : undefined;
};

/**
 * Whether reasoning has nothing but its id, as in answers without `reasoning.encrypted_content`. A client that sends such
 * an item back refers to the stored one. Ids that are not random repeat in every conversation, and are never looked up.
 */
const isBareReasoning = (value: unknown): value is JsonObject & { readonly id: string } =>
  isJsonObject(value) &&
  value['type'] === 'reasoning' &&
  (value['encrypted_content'] ?? null) === null &&
  listIn(value, 'summary').length === 0 &&
  listIn(value, 'content').length === 0 &&
  isRandomId(textIn(value, 'id'));

const translate = (
  type: Exclude<ItemType, 'item_reference'>,
  value: unknown,
  at: string,
  unread: string[],
): Item => {
  switch (type) {
    case 'message':
      return message(parseBody(schemas.message, value, at), at, unread);
    case 'reasoning': {
      const parsed = parseBody(schemas.reasoning, value, at);
      return {
        kind: 'reasoning',
        ...idAndNotes(parsed),
        summary: parsed.summary.map((one) => one.text),
        ...(parsed.content ? { content: parsed.content.map((one) => one.text) } : {}),
        ...(typeof parsed.encrypted_content === 'string'
          ? { encryptedContent: parsed.encrypted_content }
          : {}),
      };
    }
    case 'function_call':
    case 'custom_tool_call':
      return toolCall(parseBody(schemas[type], value, at));
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const parsed = parseBody(schemas[type], value, at);
      return {
        kind: 'tool-output',
        ...idAndNotes(parsed),
        ...outputOrigin({ name: null, namespace: null, ...parsed }, at),
        output: readToolOutput(parsed.output, `${at}.output`, unread),
        tool: type === 'function_call_output' ? 'function' : 'custom',
      };
    }
    case 'compaction': {
      const parsed = parseBody(schemas.compaction, value, at);
      const content = parsed.encrypted_content;
      // The summary becomes plain text, so the id no longer applies.
      if (isWrappedSummary(content)) {
        return { kind: 'compaction', summary: unwrapSummary(content, `${at}.encrypted_content`) };
      }
      return { kind: 'compaction', ...idAndNotes(parsed), encryptedContent: content };
    }
    case 'tool_search_output':
    case 'additional_tools':
      return loadedTools(value as RawItem, parseBody(schemas[type], value, at).tools, at);
    case 'raw':
      parseBody(schemas.raw, value, at);
      // As it was sent, in its order of members.
      return rawItem(value as RawItem);
    default:
      return assertNever(type);
  }
};

const toolCall = (
  parsed: z.output<typeof schemas.function_call> | z.output<typeof schemas.custom_tool_call>,
): ToolCall => ({
  kind: 'tool-call',
  ...idAndNotes(parsed),
  callId: parsed.call_id,
  name: parsed.name,
  ...(parsed.namespace ? { namespace: parsed.namespace } : {}),
  ...otherFields({ caller: parsed.caller, async: parsed.async }),
  ...(parsed.type === 'function_call'
    ? { tool: 'function', input: parsed.arguments }
    : { tool: 'custom', input: parsed.input }),
});

/**
 * The call that an output belongs to. An output that no call asked for has only the name of its tool: codex sends one
 * after an approved plan, for example.
 */
const outputOrigin = (
  { call_id: callId, caller, name, namespace }: Omit<z.output<typeof schemas.function_call_output>, 'type'>,
  at: string,
): Pick<ToolOutput, 'callId' | 'name' | 'namespace' | 'more'> => {
  if ((callId ?? null) !== null || !name) {
    return {
      callId: parseBody(idText, callId, `${at}.call_id`),
      ...otherFields({ caller, name, namespace }),
    };
  }
  return { callId: null, name, ...(namespace ? { namespace } : {}), ...otherFields({ caller }) };
};

const message = (parsed: z.output<typeof schemas.message>, at: string, unread: string[]): Message => ({
  kind: 'message',
  ...idAndNotes(parsed),
  role: parsed.role,
  parts: messageParts(parsed, `${at}.content`, unread),
  ...(parsed.phase ? { phase: parsed.phase } : {}),
});

const messageParts = (
  { content, role }: z.output<typeof schemas.message>,
  at: string,
  unread: string[],
): readonly Part[] => {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  const parts = parseParts(content, at, unread);
  return role === 'assistant' ? withoutBreakpoints(parts, at, unread) : parts;
};

const rawItem = (raw: RawItem): HostedCall | Opaque => ({
  kind: raw.type.endsWith('_call') ? 'hosted-call' : 'opaque',
  ...rawIdOf(raw),
  raw,
});

/** The tools are parsed to know them, but the item is passed through. */
const loadedTools = (raw: RawItem, tools: readonly unknown[], at: string): LoadedTools => ({
  kind: 'loaded-tools',
  ...rawIdOf(raw),
  raw,
  tools: readToolList(tools, PLAIN_READERS, `${at}.tools`),
});

const rawIdOf = ({ id: parsed }: RawItem): { id?: string } =>
  typeof parsed === 'string' && parsed !== '' ? { id: parsed } : {};

/** The fields that are not null. */
const otherFields = (fields: Readonly<Record<string, Json | undefined>>): { more?: JsonObject } => {
  const more = present(fields);
  return Object.keys(more).length === 0 ? {} : { more };
};

const idAndNotes = (parsed: {
  readonly id?: string | null | undefined;
  readonly [NOTES]?: ItemNotes | null | undefined;
}): { id?: string; notes?: ItemNotes } => ({
  ...(typeof parsed.id === 'string' && parsed.id !== '' ? { id: parsed.id } : {}),
  ...(parsed[NOTES] ? { notes: parsed[NOTES] } : {}),
});

/**
 * Reads a message that is nothing but text, as nearly all items of a long conversation are, in a tenth of the time that
 * the schemas need. Null: it has something else, or is invalid, and the schemas say what.
 */
export const plainMessage = (value: JsonObject): Message | null => {
  for (const key in value) if (!MESSAGE_KEYS.has(key)) return null;
  const { type, role, content, id, status } = value;
  if (type !== undefined && type !== 'message') return null;
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') return null;
  if (status !== undefined && typeof status !== 'string') return null;
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARS)) return null;
  const parts = typeof content === 'string' ? textParts(content) : plainParts(content);
  if (parts === null) return null;
  return id === undefined ? { kind: 'message', role, parts } : { kind: 'message', id, role, parts };
};

const MESSAGE_KEYS: ReadonlySet<string> = new Set(['type', 'role', 'content', 'id', 'status']);

const textParts = (text: string): readonly Part[] | null =>
  text.length > MAX_TEXT ? null : [{ kind: 'text', text }];

const plainParts = (content: unknown): readonly Part[] | null => {
  if (!Array.isArray(content) || content.length > MAX_PARTS) return null;
  const parts: Part[] = [];
  for (const part of content as readonly unknown[]) {
    if (!isJsonObject(part)) return null;
    const { type, text } = part;
    const fields = type === 'input_text' ? NONE : type === 'output_text' ? OUTPUT_FIELDS : null;
    if (fields === null || typeof text !== 'string' || text.length > MAX_TEXT) return null;
    for (const key in part) {
      if (key === 'type' || key === 'text') continue;
      if (!fields.has(key) || !isEmptyList(part[key])) return null;
    }
    parts.push({ kind: 'text', text });
  }
  return parts;
};

const NONE: ReadonlySet<string> = new Set();
/** Fields that clients send back as they got them, usually empty. */
const OUTPUT_FIELDS: ReadonlySet<string> = new Set(['annotations', 'logprobs']);

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

const content = z.union([longText, list(MAX_PARTS)]);
const payload = z.object({ content, success: z.boolean().nullish() });

/** Parses the output of a tool: a text, parts, or either in an object with a success flag. */
export const readToolOutput = (value: unknown, at: string, unread: string[]): string | readonly Part[] => {
  if (!isJsonObject(value) || !('content' in value)) {
    // An object is an error that names the types of OpenAI's API: few clients know the other form.
    const said = parseBody(content, value, at);
    return typeof said === 'string' ? said : parseParts(said, at, unread);
  }
  const parsed = parseBody(payload, value, at);
  noteUnread(unread, payload, value, at);
  const output =
    typeof parsed.content === 'string' ? parsed.content : parseParts(parsed.content, `${at}.content`, unread);
  return parsed.success === false ? failedOutput(output) : output;
};

const partSchemas = {
  input_text: z.object({ type: z.literal('input_text'), text: longText, ...breakpointField }),
  output_text: z.object({
    type: z.literal('output_text'),
    text: longText,
    annotations: (list(MAX_PARTS) as z.ZodType<readonly Json[]>).nullish(),
    // Accepted but not used.
    logprobs: list(Infinity).nullish(),
  }),
  refusal: z.object({ type: z.literal('refusal'), refusal: longText }),
  input_image: z.object({
    type: z.literal('input_image'),
    image_url: z.string().nullish(),
    file_id: z.string().nullish(),
    detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
    ...breakpointField,
  }),
  input_file: z.looseObject({
    type: z.literal('input_file'),
    ...fileFields,
    file_url: z.string().nullish(),
    ...breakpointField,
  }),
  input_audio: z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string().min(1), format: z.enum(['mp3', 'wav']) }),
  }),
} as const;

type PartType = keyof typeof partSchemas;
const PART_TYPES = Object.keys(partSchemas) as PartType[];

const parseParts = (parsed: readonly unknown[], at: string, unread: string[]): readonly Part[] =>
  parsed.map((value, index) => {
    const place = `${at}[${index}]`;
    const { tag: type, object } = readTagged(value, 'type', PART_TYPES, place);
    noteUnread(unread, partSchemas[type], object, place);
    return part(type, object, place);
  });

const part = (type: PartType, value: unknown, at: string): Part => {
  switch (type) {
    case 'input_text': {
      const parsed = parseBody(partSchemas.input_text, value, at);
      return { kind: 'text', text: parsed.text, ...readBreakpoint(parsed) };
    }
    case 'output_text': {
      const parsed = parseBody(partSchemas.output_text, value, at);
      return {
        kind: 'text',
        text: parsed.text,
        ...(parsed.annotations && parsed.annotations.length > 0 ? { annotations: parsed.annotations } : {}),
      };
    }
    case 'refusal':
      return { kind: 'refusal', text: parseBody(partSchemas.refusal, value, at).refusal };
    case 'input_image': {
      const parsed = parseBody(partSchemas.input_image, value, at);
      // An image stored at the backend is handled as a file.
      if (typeof parsed.file_id === 'string' || typeof parsed.image_url !== 'string') {
        return filePart(parsed, `${at}.image_url`);
      }
      return {
        kind: 'image',
        url: parsed.image_url,
        ...(parsed.detail ? { detail: parsed.detail } : {}),
        ...readBreakpoint(parsed),
      };
    }
    case 'input_file': {
      const parsed = parseBody(partSchemas.input_file, value, at);
      if (typeof parsed.file_url === 'string') checkFileUrl(parsed.file_url, `${at}.file_url`);
      return filePart(parsed as RawPart, `${at}.file_data`);
    }
    case 'input_audio': {
      const { data, format } = parseBody(partSchemas.input_audio, value, at).input_audio;
      return { kind: 'audio', data, format };
    }
    default:
      return assertNever(type);
  }
};

/** Only web URLs: a backend on this machine must not be made to open local files. */
const checkFileUrl = (url: string, param: string): void => {
  if (isPlainWebUrl(url)) return;
  throw gatewayError('invalid_value', {
    message: `Invalid '${param}': expected an http or https URL.`,
    param,
  });
};
