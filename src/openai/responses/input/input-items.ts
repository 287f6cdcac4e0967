import type { z } from 'zod';

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
} from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, listIn, present, textIn, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { isRandomId } from '../../../kit/text/patterns.ts';
import { idText, rejectTooManyParts } from '../../../apis/bounds.ts';
import { withoutBreakpoints } from '../../shared/cache-breakpoint.ts';
import { PLAIN_READERS, readToolList } from '../../shared/read-tools.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { notAnObject, parseBody } from '../../../apis/validation.ts';
import { parseParts } from './input-parts.ts';
import { isItemType, NOTES, schemas, type ItemType } from './input-schemas.ts';
import { References, type Recall } from './item-references.ts';
import { plainMessage } from './plain-message.ts';
import { isWrappedSummary, unwrapSummary } from '../wrapped-summary.ts';
import { isPlaceholderId } from '../output/placeholder.ts';
import { readToolOutput } from './tool-output.ts';

/** The parsed items, their locations in the body, and the names of unread fields. */
export interface ReadItems {
  readonly items: readonly Item[];
  readonly places: readonly string[];
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

interface Reading {
  readonly unread: string[];
  readonly references: References;
}

/** Parses an item; null if it is empty, such as the placeholder message of the message-first layout. */
const readItem = (value: unknown, at: string, { unread, references }: Reading): Item | null => {
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
