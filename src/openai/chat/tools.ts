import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  isRunByClient,
  type RawTool,
  type Tool,
  type ToolChoice,
  type ToolRef,
} from '../../canonical/request/tool.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import { readChoiceWord, readToolList, TOOL_CHOICES, toFunctionTool } from '../shared/read-tools.ts';
import { checkDeclared, checkTools } from '../../apis/check-tools.ts';
import { listOf, MAX_CHAT_TOOLS } from '../../apis/bounds.ts';
import { invalidChoice, parseBody } from '../../apis/validation.ts';
import type { CreateChat } from './schema.ts';
import { eitherForm, flatCustomNames, looseUnlessSaid } from './tool-form.ts';

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
