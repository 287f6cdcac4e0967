import { z } from 'zod';

import { gatewayError } from '../../canonical/failure.ts';
import {
  saysNothing,
  type HostedCall,
  type Item,
  type ItemNotes,
  type LoadedTools,
  type Message,
  type Opaque,
  type Part,
  type RawItem,
} from '../../canonical/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import {
  idText,
  jsonObject,
  list,
  listOf,
  longText,
  MAX_ID_CHARS,
  MAX_PARTS,
  MAX_TOOLS,
  refuseTooManyParts,
} from '../bounds.ts';
import { withoutBreakpoints } from '../cache-breakpoint.ts';
import { PLAIN_READERS, readToolList } from '../read-tools.ts';
import { noteUnread } from '../unread-fields.ts';
import { notAnObject, parseBody } from '../validation.ts';
import { parseParts } from './input-parts.ts';
import { isOwnSummary, unwrapSummary } from './own-summary.ts';
import { readToolOutput } from './tool-output.ts';

/** The field for what codex notes about an item. */
const NOTES = 'internal_chat_message_metadata_passthrough';

/** What was read, where each item stood in the body, and the names of the fields that were not read. */
export interface ReadItems {
  readonly items: readonly Item[];
  readonly places: readonly string[];
  readonly unread: readonly string[];
}

const id = z.string().max(MAX_ID_CHARS).nullish();
const status = z.string().nullish();
const notes = { [NOTES]: jsonObject.nullish() };

const caller = jsonObject.nullish();
/** Fields of a call that only a backend reads. */
const callFields = { caller, async: z.boolean().nullish() };

/** Other names under which a compaction comes back. */
const COMPACTION_TOO = ['compaction_summary', 'context_compaction'] as const;

/** Only what is read: clients replay whole output items, with fields that nobody needs. */
const schemas = {
  message: z.object({
    type: z.literal('message').optional(),
    id,
    status,
    ...notes,
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([longText, list(MAX_PARTS)]),
    phase: z.enum(['commentary', 'final_answer']).nullish(),
  }),
  reasoning: z.object({
    type: z.literal('reasoning'),
    id,
    status,
    ...notes,
    summary: listOf(z.object({ type: z.literal('summary_text'), text: longText }), MAX_PARTS),
    content: listOf(z.object({ type: z.literal('reasoning_text'), text: longText }), MAX_PARTS).nullish(),
    encrypted_content: z.string().nullish(),
  }),
  function_call: z.object({
    type: z.literal('function_call'),
    id,
    status,
    ...notes,
    call_id: idText,
    name: idText,
    namespace: z.string().nullish(),
    arguments: longText,
    ...callFields,
  }),
  function_call_output: z.object({
    type: z.enum(['function_call_output', 'tool_output']),
    id,
    status,
    ...notes,
    call_id: idText,
    output: z.unknown(),
    caller,
    name: z.string().nullish(),
    namespace: z.string().nullish(),
  }),
  custom_tool_call: z.object({
    type: z.literal('custom_tool_call'),
    id,
    status,
    ...notes,
    call_id: idText,
    name: idText,
    namespace: z.string().nullish(),
    input: longText,
    ...callFields,
  }),
  custom_tool_call_output: z.object({
    type: z.literal('custom_tool_call_output'),
    id,
    status,
    ...notes,
    call_id: idText,
    output: z.unknown(),
    caller,
  }),
  compaction: z.object({
    type: z.enum(['compaction', ...COMPACTION_TOO]),
    id,
    ...notes,
    encrypted_content: z.string(),
  }),
  tool_search_output: z.looseObject({ type: z.literal('tool_search_output'), tools: list(MAX_TOOLS) }),
  additional_tools: z.looseObject({
    type: z.literal('additional_tools'),
    role: z.literal('developer'),
    tools: list(MAX_TOOLS),
  }),
  /** What a hosted tool did or asks for, what the client answers to it, and what nobody here knows: they go on as they are. */
  raw: z.looseObject({ type: idText, id }),
} as const;

type ItemType = keyof typeof schemas;
const isItemType = (type: string): type is ItemType => type !== 'raw' && Object.hasOwn(schemas, type);

export const readInput = (input: string | readonly unknown[]): ReadItems => {
  if (typeof input === 'string') {
    const item: Item = { kind: 'message', role: 'user', parts: [{ kind: 'text', text: input }] };
    return { items: [item], places: ['input'], unread: [] };
  }
  refuseTooManyParts(input, 'input');
  const unread: string[] = [];
  const read = input.flatMap((value, index) => {
    const place = `input[${index}]`;
    const item = readItem(value, place, unread);
    return item === null ? [] : [{ item, place }];
  });
  return { items: read.map(({ item }) => item), places: read.map(({ place }) => place), unread };
};

/** Null for an item that says nothing: the empty assistant message of our own message-first layout. */
const readItem = (value: unknown, at: string, unread: string[]): Item | null => {
  const type = typeOf(value, at);
  noteUnread(unread, schemas[type], value, at);
  const item = translate(type, value, at, unread);
  const isEmpty = item.kind === 'message' && item.role === 'assistant' && saysNothing(item.parts);
  return isEmpty ? null : item;
};

const typeOf = (value: unknown, at: string): ItemType => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const type = value['type'] ?? (value['role'] === undefined ? undefined : 'message');
  const name = parseBody(idText, type, `${at}.type`);
  if (isItemType(name)) return name;
  if (name === 'compaction_summary') return 'compaction';
  if (name === 'tool_output') return 'function_call_output';
  // What is sealed under this name goes on under it.
  if (name === 'context_compaction' && isOwnSummary(value['encrypted_content'])) return 'compaction';
  if (name === 'item_reference') {
    throw gatewayError('unsupported_value', {
      param: at,
      message: `Item references are not supported at '${at}': items are not stored here. Send the item itself (with 'store: false' clients do so by themselves).`,
    });
  }
  return 'raw';
};

const translate = (type: ItemType, value: unknown, at: string, unread: string[]): Item => {
  switch (type) {
    case 'message':
      return message(parseBody(schemas.message, value, at), at, unread);
    case 'reasoning': {
      const given = parseBody(schemas.reasoning, value, at);
      return {
        kind: 'reasoning',
        ...about(given),
        summary: given.summary.map((one) => one.text),
        ...(given.content ? { content: given.content.map((one) => one.text) } : {}),
        ...(typeof given.encrypted_content === 'string' ? { encryptedContent: given.encrypted_content } : {}),
      };
    }
    case 'function_call': {
      const given = parseBody(schemas.function_call, value, at);
      return {
        kind: 'tool-call',
        tool: 'function',
        ...about(given),
        callId: given.call_id,
        name: given.name,
        ...(given.namespace ? { namespace: given.namespace } : {}),
        input: given.arguments,
        ...further({ caller: given.caller, async: given.async }),
      };
    }
    case 'function_call_output': {
      const given = parseBody(schemas.function_call_output, value, at);
      return {
        kind: 'tool-output',
        tool: 'function',
        ...about(given),
        callId: given.call_id,
        output: readToolOutput(given.output, `${at}.output`, unread),
        ...further({ caller: given.caller, name: given.name, namespace: given.namespace }),
      };
    }
    case 'custom_tool_call': {
      const given = parseBody(schemas.custom_tool_call, value, at);
      return {
        kind: 'tool-call',
        tool: 'custom',
        ...about(given),
        callId: given.call_id,
        name: given.name,
        ...(given.namespace ? { namespace: given.namespace } : {}),
        input: given.input,
        ...further({ caller: given.caller, async: given.async }),
      };
    }
    case 'custom_tool_call_output': {
      const given = parseBody(schemas.custom_tool_call_output, value, at);
      return {
        kind: 'tool-output',
        tool: 'custom',
        ...about(given),
        callId: given.call_id,
        output: readToolOutput(given.output, `${at}.output`, unread),
        ...further({ caller: given.caller }),
      };
    }
    case 'compaction': {
      const given = parseBody(schemas.compaction, value, at);
      const content = given.encrypted_content;
      // It goes on as words, to which its id does not belong.
      if (isOwnSummary(content)) {
        return { kind: 'compaction', summary: unwrapSummary(content, `${at}.encrypted_content`) };
      }
      return { kind: 'compaction', ...about(given), encryptedContent: content };
    }
    case 'tool_search_output':
    case 'additional_tools':
      return loadedTools(value as RawItem, parseBody(schemas[type], value, at).tools, at);
    case 'raw':
      return rawItem(parseBody(schemas.raw, value, at) as RawItem);
    default:
      return assertNever(type);
  }
};

const message = (given: z.output<typeof schemas.message>, at: string, unread: string[]): Message => ({
  kind: 'message',
  ...about(given),
  role: given.role,
  parts: messageParts(given, `${at}.content`, unread),
  ...(given.phase ? { phase: given.phase } : {}),
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

/** The tools are read to be known: the item goes on as it is. */
const loadedTools = (raw: RawItem, tools: readonly unknown[], at: string): LoadedTools => ({
  kind: 'loaded-tools',
  ...rawIdOf(raw),
  raw,
  tools: readToolList(tools, PLAIN_READERS, `${at}.tools`),
});

const rawIdOf = ({ id: given }: RawItem): { id?: string } =>
  typeof given === 'string' && given !== '' ? { id: given } : {};

/** The fields that are not null. */
const further = (fields: Readonly<Record<string, Json | undefined>>): { more?: JsonObject } => {
  const said = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return said.length === 0 ? {} : { more: Object.fromEntries(said) };
};

const about = (given: {
  readonly id?: string | null | undefined;
  readonly [NOTES]?: ItemNotes | null | undefined;
}): { id?: string; notes?: ItemNotes } => ({
  ...(typeof given.id === 'string' && given.id !== '' ? { id: given.id } : {}),
  ...(given[NOTES] ? { notes: given[NOTES] } : {}),
});
