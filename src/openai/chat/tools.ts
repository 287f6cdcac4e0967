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
import { quoted } from '../../kit/text/quote.ts';
import {
  checkDeclared,
  checkTools,
  readChoiceWord,
  readToolList,
  TOOL_CHOICES,
  toFunctionTool,
} from '../shared/read-tools.ts';
import { listOf, MAX_CHAT_TOOLS } from '../shared/bounds.ts';
import { invalidChoice, parseBody } from '../shared/validation.ts';
import type { CreateChat } from './schema.ts';
import { eitherForm, flatCustomNames, looseUnlessSaid } from './tool-form.ts';

export interface ReadTools {
  readonly tools: readonly Tool[];
  readonly choice: ToolChoice;
  /** The client uses the older `functions`: its answer has at most one call, as `function_call`. */
  readonly isLegacy: boolean;
  /** Custom tools whose calls are told, and come back, as calls of functions. */
  readonly toldAsFunctions: ReadonlySet<string>;
  /** Where the body says something of a tool. */
  readonly placeOf: (index: number) => string;
  /** Which of the tools was asked for by `web_search_options`. */
  readonly webSearchAt: number | null;
}

export const readChatTools = (given: CreateChat, ignored: string[]): ReadTools => {
  const read = readOwnTools(given, ignored);
  const search = given.web_search_options;
  if (!search) return { ...read, webSearchAt: null };
  return { ...read, tools: [...read.tools, webSearch(search)], webSearchAt: read.tools.length };
};

/** The tool of the Responses API that does what these options ask for; it has the place one level higher. */
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

const readOwnTools = (given: CreateChat, ignored: string[]): Omit<ReadTools, 'webSearchAt'> => {
  if (!given.functions) {
    const list = given.tools ?? [];
    const { readers, placeOf } = eitherForm(list, ignored);
    const tools = readToolList(list, readers);
    checkTools(tools, placeOf);
    refuseUnanswerable(tools);
    // Alone it may only say what holds anyway.
    readFunctionCall(given.function_call, []);
    return {
      tools,
      choice: readToolChoice(given.tool_choice, tools),
      isLegacy: false,
      toldAsFunctions: flatCustomNames(list, tools),
      placeOf,
    };
  }
  if (given.tools || (given.tool_choice ?? null) !== null) {
    throw gatewayError('invalid_value', {
      param: 'functions',
      message: "Invalid 'functions': 'functions' and 'tools' cannot be used in the same request.",
    });
  }
  const tools = given.functions.map((one) => toFunctionTool(looseUnlessSaid(one)));
  const placeOf = (index: number): string => `functions[${index}]`;
  checkTools(tools, placeOf);
  return {
    tools,
    choice: readFunctionCall(given.function_call, tools),
    isLegacy: true,
    toldAsFunctions: new Set(),
    placeOf,
  };
};

/** Chat has no message for what such a tool asks of the client, nor for what the client answers. */
export const refuseUnanswerable = (tools: readonly Tool[]): void => {
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

const readToolChoice = (given: unknown, tools: readonly Tool[]): ToolChoice => {
  const word = readChoiceWord(given, tools);
  if (word !== null) return word;
  if (!isJsonObject(given)) throw invalidChoice('tool_choice', given, TOOL_CHOICES);
  if (given['type'] === 'allowed_tools') {
    const { mode, tools: some } = parseBody(allowed, given, 'tool_choice').allowed_tools;
    const at = 'tool_choice.allowed_tools.tools';
    const read = some.map((tool, index) => readRef(tool, `${at}[${index}]`));
    checkDeclared(
      read.map(({ ref }) => ref),
      tools,
      (index) => read[index]?.param ?? at,
    );
    return { mode: 'allowed', required: mode === 'required', tools: read.map(({ ref }) => ref) };
  }
  const { ref, param } = readRef(parseBody(named, given, 'tool_choice'), 'tool_choice');
  checkDeclared([ref], tools, () => param);
  return { mode: 'named', tool: ref };
};

/** A tool that the backend runs is named by its type. Others may be named as the Responses API does. */
const readRef = (
  given: z.output<typeof named>,
  at: string,
): { readonly ref: ToolRef; readonly param: string } => {
  const { type: kind, name } = given;
  if (kind !== 'function' && kind !== 'custom') {
    return { ref: { kind: 'hosted', raw: given as RawTool }, param: at };
  }
  if (typeof name === 'string') return { ref: { kind, name }, param: `${at}.name` };
  const wrapped: Partial<Record<string, { readonly name: string }>> = parseBody(nameIn[kind], given, at);
  return { ref: { kind, name: wrapped[kind]?.name ?? '' }, param: `${at}.${kind}.name` };
};

const readFunctionCall = (given: CreateChat['function_call'], tools: readonly Tool[]): ToolChoice => {
  if (given === undefined || given === null || given === 'auto') return { mode: 'auto' };
  if (given === 'none') return { mode: 'none' };
  const tool = { kind: 'function', name: given.name } as const;
  checkDeclared([tool], tools, () => 'function_call.name', 'functions');
  return { mode: 'named', tool };
};
