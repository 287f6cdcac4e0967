import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  hasNoContent,
  type Item,
  type Message,
  type Part,
  type ToolCall,
} from '../../canonical/request/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import {
  idText,
  list,
  longText,
  MAX_CHAT_TOOLS,
  MAX_PARTS,
  MAX_TEXT,
  rejectTooManyParts,
} from '../../apis/bounds.ts';
import {
  withoutBreakpoints,
  breakpointField,
  readBreakpoint,
  fileFields,
  filePart,
} from '../shared/field-schemas.ts';
import {
  noteUnread,
  parseBody,
  readTagged,
  emptyArray,
  invalidChoice,
  missing,
} from '../../apis/validation.ts';
import { quoted } from '../../kit/text/display.ts';
import type { PlacedItems } from '../responses/input/input-items.ts';

const functionCallSchema = z.object({ name: idText, arguments: longText });

/** Some clients send back the index that calls have in chunks. */
const head = { id: idText, index: z.unknown().optional() };
const callSchemas = {
  function: z.object({ ...head, type: z.literal('function'), function: functionCallSchema }),
  custom: z.object({
    ...head,
    type: z.literal('custom'),
    custom: z.object({ name: idText, input: longText }),
  }),
};

/** A call in an earlier assistant message. */
const readToolCall = (value: unknown, at: string, ignored: string[]): ToolCall => {
  const type = isJsonObject(value) ? value['type'] : undefined;
  if (type === undefined) throw missing(`${at}.type`);
  if (type !== 'function' && type !== 'custom') {
    throw invalidChoice(`${at}.type`, type, ['function', 'custom']);
  }
  const parsed = parseBody(callSchemas[type], value, at);
  noteUnread(ignored, callSchemas[type], value, at);
  const call = { kind: 'tool-call', tool: type, callId: parsed.id } as const;
  if (parsed.type === 'custom') return { ...call, ...parsed.custom };
  return { ...call, name: parsed.function.name, input: parsed.function.arguments };
};

const partSchemas = {
  text: z.object({ type: z.literal('text'), text: longText, ...breakpointField }),
  image_url: z.object({
    type: z.literal('image_url'),
    image_url: z.object({
      url: z.string(),
      detail: z.enum(['auto', 'low', 'high', 'original']).nullish(),
    }),
    ...breakpointField,
  }),
  input_audio: z.object({
    type: z.literal('input_audio'),
    input_audio: z.object({ data: z.string().min(1), format: z.enum(['wav', 'mp3']) }),
    ...breakpointField,
  }),
  file: z.object({
    type: z.literal('file'),
    file: z.object(fileFields),
    ...breakpointField,
  }),
  refusal: z.object({ type: z.literal('refusal'), refusal: longText }),
} as const;

type PartType = keyof typeof partSchemas;

/** Parses content: a string becomes one text part. The caller checks which parts its role allows. */
const readContent = (
  content: string | readonly unknown[],
  allowed: readonly PartType[],
  at: string,
  unread: string[],
): readonly Part[] => {
  if (typeof content === 'string') return [{ kind: 'text', text: content }];
  if (content.length === 0) throw emptyArray(at);
  return content.map((value, index) => {
    const place = `${at}[${index}]`;
    const { tag: type, object } = readTagged(value, 'type', allowed, place);
    noteUnread(unread, partSchemas[type], object, place);
    return part(type, object, place);
  });
};

const part = (type: PartType, value: unknown, at: string): Part => {
  switch (type) {
    case 'text': {
      const parsed = parseBody(partSchemas.text, value, at);
      return { kind: 'text', text: parsed.text, ...readBreakpoint(parsed) };
    }
    case 'refusal':
      return { kind: 'refusal', text: parseBody(partSchemas.refusal, value, at).refusal };
    case 'image_url': {
      const { image_url: image, ...parsed } = parseBody(partSchemas.image_url, value, at);
      const { url, detail } = image;
      return { kind: 'image', url, ...(detail ? { detail } : {}), ...readBreakpoint(parsed) };
    }
    case 'input_audio': {
      const { input_audio: audio, ...parsed } = parseBody(partSchemas.input_audio, value, at);
      return { kind: 'audio', data: audio.data, format: audio.format, ...readBreakpoint(parsed) };
    }
    case 'file': {
      const { file, ...parsed } = parseBody(partSchemas.file, value, at);
      return {
        ...filePart({ type: 'input_file', ...file }, `${at}.file.file_data`),
        ...readBreakpoint(parsed),
      };
    }
    default:
      return assertNever(type);
  }
};

export interface ReadMessages extends PlacedItems {
  /** Locations of fields without effect. */
  readonly unread: readonly string[];
}

const content = z.union([longText, list(MAX_PARTS)]);
const name = z.string().nullish();

const prompt = z.object({ role: z.string(), content, name });
const schemas = {
  system: prompt,
  developer: prompt,
  user: prompt,
  assistant: z.object({
    role: z.string(),
    content: content.nullish(),
    refusal: longText.nullish(),
    name,
    tool_calls: list(MAX_CHAT_TOOLS).nullish(),
    function_call: functionCallSchema.nullish(),
    audio: z.unknown().optional(),
    // Clients send back our complete messages. The following fields are not for the model.
    annotations: z.unknown().optional(),
    reasoning_content: z.unknown().optional(),
    reasoning: z.unknown().optional(),
  }),
  tool: z.object({ role: z.string(), content, tool_call_id: idText, name }),
  function: z.object({ role: z.string(), content: longText.nullable(), name: idText }),
} as const;

type ChatRole = keyof typeof schemas;
const ROLES = Object.keys(schemas) as ChatRole[];

/** The part types that each role allows. */
const PARTS = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  // OpenAI's Chat allows only text here, but its Responses API, which our backends use, also accepts images.
  tool: ['text', 'image_url'],
} as const satisfies Record<string, readonly PartType[]>;

export const readMessages = (messages: readonly unknown[]): ReadMessages => {
  rejectTooManyParts(messages, 'messages');
  const reader = new MessageReader();
  for (const [index, value] of messages.entries()) reader.read(value, index);
  return reader;
};

class MessageReader implements ReadMessages {
  readonly items: Item[] = [];
  readonly places: string[] = [];
  readonly unread: string[] = [];
  /** Whether the call with this id is a custom one: its output is then one too. */
  readonly #custom = new Set<string>();
  /** Legacy calls have no id: an output belongs to the newest unanswered call of its name. */
  readonly #legacy = new Map<string, string[]>();

  read(value: unknown, index: number): void {
    const at = `messages[${index}]`;
    const plain = plainMessage(value);
    if (plain !== null) {
      // Like any empty answer.
      if (plain.role !== 'assistant' || !hasNoContent(plain.parts)) this.#add(plain, at);
      return;
    }
    const role = roleOf(value, at);
    noteUnread(this.unread, schemas[role], value, at);
    switch (role) {
      case 'system':
      case 'developer':
      case 'user': {
        refuseNull(value, at);
        const parsed = parseBody(schemas[role], value, at);
        this.#noteName(parsed.name, at);
        this.#add({ kind: 'message', role, parts: this.#parts(parsed.content, role, at) }, at);
        return;
      }
      case 'assistant':
        this.#assistant(parseBody(schemas.assistant, value, at), index, at);
        return;
      case 'tool': {
        refuseNull(value, at);
        const parsed = parseBody(schemas.tool, value, at);
        const output =
          typeof parsed.content === 'string' ? parsed.content : this.#parts(parsed.content, role, at);
        const tool = this.#custom.has(parsed.tool_call_id) ? 'custom' : 'function';
        this.#add({ kind: 'tool-output', tool, callId: parsed.tool_call_id, output }, at);
        return;
      }
      case 'function': {
        const parsed = parseBody(schemas.function, value, at);
        const callId = this.#answeredLegacyCall(parsed.name, at);
        const output = parsed.content ?? '';
        this.#add({ kind: 'tool-output', tool: 'function', callId, output }, at);
        return;
      }
      default:
        assertNever(role);
    }
  }

  #assistant(parsed: z.output<typeof schemas.assistant>, index: number, at: string): void {
    this.#noteName(parsed.name, at);
    if (parsed.audio !== undefined && parsed.audio !== null) {
      throw gatewayError('unsupported_value', {
        param: `${at}.audio`,
        message: 'Audio answers are not stored and cannot be referred to.',
      });
    }
    const calls = parsed.tool_calls ?? [];
    const hasContent = parsed.content !== undefined && parsed.content !== null;
    const hasOther = calls.length > 0 || Boolean(parsed.function_call) || typeof parsed.refusal === 'string';
    if (!hasContent && !hasOther) throw noContent(at);
    const read = hasContent ? this.#parts(parsed.content ?? '', 'assistant', at) : [];
    const parts: Part[] = [...withoutBreakpoints(read, `${at}.content`, this.unread)];
    if (typeof parsed.refusal === 'string') parts.push({ kind: 'refusal', text: parsed.refusal });
    // An empty answer of ours that is sent back is dropped.
    if (!hasNoContent(parts)) this.#add({ kind: 'message', role: 'assistant', parts }, at);
    for (const [position, value] of calls.entries()) {
      const place = `${at}.tool_calls[${position}]`;
      const call = readToolCall(value, place, this.unread);
      if (call.tool === 'custom') this.#custom.add(call.callId);
      this.#add(call, place);
    }
    if (parsed.function_call) {
      const callId = `call_legacy_${index}`;
      const { name: called, arguments: input } = parsed.function_call;
      const unanswered = this.#legacy.get(called) ?? [];
      unanswered.push(callId);
      this.#legacy.set(called, unanswered);
      const call = { kind: 'tool-call', tool: 'function', callId, name: called, input } as const;
      this.#add(call, `${at}.function_call`);
    }
  }

  #answeredLegacyCall(called: string, at: string): string {
    const callId = this.#legacy.get(called)?.pop();
    if (callId !== undefined) return callId;
    throw gatewayError('invalid_value', {
      param: `${at}.role`,
      message: `Invalid parameter: messages with role 'function' must be a response to a preceding message with 'function_call' ('${quoted(called)}' was not called).`,
    });
  }

  #parts(parsed: string | readonly unknown[], role: keyof typeof PARTS, at: string): readonly Part[] {
    return readContent(parsed, PARTS[role], `${at}.content`, this.unread);
  }

  /** Reports fields that no item has. */
  #noteName(parsed: string | null | undefined, at: string): void {
    if (typeof parsed === 'string' && parsed !== '') this.unread.push(`${at}.name`);
  }

  #add(item: Item, place: string): void {
    this.items.push(item);
    this.places.push(place);
  }
}

/** Reads a message of nothing but text, as most are, without the schemas. Null: they read it. */
const plainMessage = (value: unknown): Message | null => {
  if (!isJsonObject(value)) return null;
  for (const key in value) if (key !== 'role' && key !== 'content') return null;
  const { role, content: text } = value;
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') return null;
  if (typeof text !== 'string' || text.length > MAX_TEXT) return null;
  return { kind: 'message', role, parts: [{ kind: 'text', text }] };
};

const roleOf = (value: unknown, at: string): ChatRole => readTagged(value, 'role', ROLES, at).tag;

const refuseNull = (value: unknown, at: string): void => {
  if (isJsonObject(value) && value['content'] === null) throw noContent(at);
};

const noContent = (at: string) =>
  gatewayError('invalid_type', {
    param: `${at}.content`,
    message: `Invalid value for '${at}.content': expected a string, got null.`,
  });
