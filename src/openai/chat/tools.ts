import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  isRunByClient,
  type RawTool,
  type Tool,
  type ToolChoice,
  type ToolRef,
} from '../../canonical/request/tool.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import {
  readChoiceWord,
  readToolList,
  TOOL_CHOICES,
  toFunctionTool,
  TOOL_FORMATS,
  grammarSchema,
  PLAIN_FORM,
  type FunctionBody,
  type ToolForm,
} from '../shared/read-tools.ts';
import { checkDeclared, checkTools } from '../../apis/schema-problem.ts';
import { listOf, MAX_CHAT_TOOLS } from '../../apis/bounds.ts';
import { invalidChoice, parseBody, noteUnread, readTagged } from '../../apis/validation.ts';
import type { CreateChat } from './parameters.ts';
import { customFields, functionFields } from '../shared/field-schemas.ts';
import { isToolCall, type Item } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/** Parses tools in Chat's form, which is nested one level deeper, and in Responses form. Cursor mixes both. */
export const eitherForm = (parsed: readonly unknown[], ignored: string[]): ToolForm => ({
  readers: {
    function(value, at) {
      if (isFlat(value)) return PLAIN_FORM.readers.function(value, at);
      const tool = parseBody(functionSchema, value, at).function;
      noteUnread(ignored, functionSchema, value, at);
      return looseUnlessSaid(tool);
    },
    custom(value, at) {
      if (isFlat(value)) return PLAIN_FORM.readers.custom(value, at);
      const { format, ...tool } = parseBody(customSchema, value, at).custom;
      noteUnread(ignored, customSchema, value, at);
      return { ...tool, format: flatFormat(format, `${at}.custom.format`) };
    },
  },
  placeOf(index) {
    const tool = parsed[index];
    const type = isJsonObject(tool) ? tool['type'] : null;
    const place = PLAIN_FORM.placeOf(index);
    return (type === 'function' || type === 'custom') && !isFlat(tool) ? `${place}.${type}` : place;
  },
});

const functionSchema = z.object({ type: z.literal('function'), function: z.looseObject(functionFields) });
const customSchema = z.object({ type: z.literal('custom'), custom: z.looseObject(customFields) });
/** Chat also nests a grammar one level deeper. */
const formatSchema = z.looseObject({ grammar: grammarSchema });

const isFlat = (tool: unknown): boolean =>
  isJsonObject(tool) && 'name' in tool && !('function' in tool) && !('custom' in tool);

const flatFormat = (format: JsonObject | null | undefined, at: string): JsonObject | null => {
  if (!format || readTagged(format, 'type', TOOL_FORMATS, at).tag !== 'grammar') return format ?? null;
  const { grammar, ...rest } = parseBody(formatSchema, format, at);
  return { ...rest, ...grammar } as JsonObject;
};

/** In Chat a function is not strict by default, but a Responses backend may treat it as strict. */
const looseUnlessSaid = (tool: FunctionBody): FunctionBody => ({
  ...tool,
  strict: tool.strict ?? false,
});

/** Custom tools in Responses form: a client that sends them does not understand Chat's custom calls. */
export const flatCustomNames = (parsed: readonly unknown[], tools: readonly Tool[]): ReadonlySet<string> =>
  new Set(
    tools.flatMap((tool, index) => (tool.kind === 'custom' && isFlat(parsed[index]) ? [tool.name] : [])),
  );

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
  /** The client uses the legacy `functions`: its answer has at most one call, as `function_call`. */
  readonly isLegacy: boolean;
  /** Custom tools whose calls are sent and received as function calls. */
  readonly sentAsFunctions: ReadonlySet<string>;
  /** The location of a tool in the body. */
  readonly placeOf: (index: number) => string;
  /** The index of the tool from `web_search_options`. */
  readonly webSearchAt: number | null;
}

export const readChatTools = (parsed: CreateChat, ignored: string[]): ReadTools => {
  const read = readOwnTools(parsed, ignored);
  const search = parsed.web_search_options;
  if (!search) return { ...read, webSearchAt: null };
  return { ...read, tools: [...read.tools, webSearch(search)], webSearchAt: read.tools.length };
};

/** Converts `web_search_options` to the tool of the Responses API, which nests the location less deeply. */
const webSearch = ({
  search_context_size: size,
  user_location: location,
}: NonNullable<CreateChat['web_search_options']>): Tool => ({
  kind: 'hosted',
  raw: {
    type: 'web_search',
    ...(size ? { search_context_size: size } : {}),
    ...(location ? { user_location: { type: location.type, ...location.approximate } } : {}),
  },
});

const readOwnTools = (parsed: CreateChat, ignored: string[]): Omit<ReadTools, 'webSearchAt'> => {
  if (!parsed.functions) {
    const list = parsed.tools ?? [];
    const { readers, placeOf } = eitherForm(list, ignored);
    const tools = readToolList(list, readers);
    checkTools(tools, placeOf);
    rejectClientRunTools(tools);
    // Without `functions`, only the default is allowed.
    readFunctionCall(parsed.function_call, []);
    return {
      tools,
      choice: readToolChoice(parsed.tool_choice, tools),
      isLegacy: false,
      sentAsFunctions: flatCustomNames(list, tools),
      placeOf,
    };
  }
  if (parsed.tools || (parsed.tool_choice ?? null) !== null) {
    throw gatewayError('invalid_value', {
      param: 'functions',
      message: "Invalid 'functions': 'functions' and 'tools' cannot be used in the same request.",
    });
  }
  const tools = parsed.functions.map((one) => toFunctionTool(looseUnlessSaid(one)));
  const placeOf = (index: number): string => `functions[${index}]`;
  checkTools(tools, placeOf);
  return {
    tools,
    choice: readFunctionCall(parsed.function_call, tools),
    isLegacy: true,
    sentAsFunctions: new Set(),
    placeOf,
  };
};

/** Rejects tools that need the client's answer, because Chat has no messages for them. */
export const rejectClientRunTools = (tools: readonly Tool[]): void => {
  const index = tools.findIndex(isRunByClient);
  const tool = tools[index];
  if (tool?.kind !== 'hosted') return;
  throw gatewayError('unsupported_tool', {
    param: `tools[${index}]`,
    message: `Unsupported tool: 'tools[${index}]' is of type '${quoted(tool.raw.type)}', which the client has to answer; Chat does not support that. Use the Responses API.`,
  });
};

const byName = z.object({ name: z.string().min(1) });
const nameIn = { function: z.object({ function: byName }), custom: z.object({ custom: byName }) };
const named = z.looseObject({ type: z.string().min(1) });
const allowed = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: listOf(named, MAX_CHAT_TOOLS, 1) }),
});

const readToolChoice = (parsed: unknown, tools: readonly Tool[]): ToolChoice => {
  const word = readChoiceWord(parsed, tools);
  if (word !== null) return word;
  if (!isJsonObject(parsed)) throw invalidChoice('tool_choice', parsed, TOOL_CHOICES);
  if (parsed['type'] === 'allowed_tools') {
    const { mode, tools: some } = parseBody(allowed, parsed, 'tool_choice').allowed_tools;
    const at = 'tool_choice.allowed_tools.tools';
    const read = some.map((tool, index) => readRef(tool, `${at}[${index}]`));
    checkDeclared(
      read.map(({ ref }) => ref),
      tools,
      (index) => read[index]?.param ?? at,
    );
    return { mode: 'allowed', required: mode === 'required', tools: read.map(({ ref }) => ref) };
  }
  const { ref, param } = readRef(parseBody(named, parsed, 'tool_choice'), 'tool_choice');
  checkDeclared([ref], tools, () => param);
  return { mode: 'named', tool: ref };
};

/** Parses a tool reference. Hosted tools are named by type; others also in Responses form. */
const readRef = (
  parsed: z.output<typeof named>,
  at: string,
): { readonly ref: ToolRef; readonly param: string } => {
  const { type: kind, name } = parsed;
  if (kind !== 'function' && kind !== 'custom') {
    return { ref: { kind: 'hosted', raw: parsed as RawTool }, param: at };
  }
  if (typeof name === 'string') return { ref: { kind, name }, param: `${at}.name` };
  const wrapped: Partial<Record<string, { readonly name: string }>> = parseBody(nameIn[kind], parsed, at);
  return { ref: { kind, name: wrapped[kind]?.name ?? '' }, param: `${at}.${kind}.name` };
};

const readFunctionCall = (parsed: CreateChat['function_call'], tools: readonly Tool[]): ToolChoice => {
  if (parsed === undefined || parsed === null || parsed === 'auto') return { mode: 'auto' };
  if (parsed === 'none') return { mode: 'none' };
  const tool = { kind: 'function', name: parsed.name } as const;
  checkDeclared([tool], tools, () => 'function_call.name', 'functions');
  return { mode: 'named', tool };
};

/**
 * Rewrites calls of custom tools as function calls whose `arguments` are the plain text, because Cursor declares custom
 * tools but reads `function.name` in every call. Runs before `render` and `fold`.
 */
export async function* asFunctionCalls(
  events: AsyncIterable<TurnEvent>,
  names: ReadonlySet<string>,
): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const isOne =
      (event.type === 'item-started' || event.type === 'item-ended') &&
      isToolCall(event.item) &&
      names.has(event.item.name);
    yield isOne ? { ...event, item: { ...event.item, tool: 'function' } } : event;
  }
}

/** The reverse for input: turns such calls and their outputs back into those of a custom tool. */
export const asCustomCalls = (items: readonly Item[], names: ReadonlySet<string>): readonly Item[] => {
  if (names.size === 0) return items;
  const custom = new Set<string>();
  return items.map((item): Item => {
    if (item.kind === 'tool-output') {
      return item.callId !== null && custom.delete(item.callId)
        ? withoutId({ ...item, tool: 'custom' })
        : item;
    }
    if (item.kind !== 'tool-call' || item.tool === 'custom' || !names.has(item.name)) return item;
    custom.add(item.callId);
    return withoutId({ ...item, tool: 'custom' });
  });
};

/** The backend derives the item type from the prefix of the id. */
const withoutId = (item: Item): Item => {
  const { id: _, ...rest } = item;
  return rest;
};
