import { z } from 'zod';

import { gatewayError } from '../../canonical/failure.ts';
import type { FunctionTool, ToolChoice } from '../../canonical/turn-request.ts';
import { isJsonObject } from '../../kit/json.ts';
import { functionFields } from '../fields.ts';
import {
  checkAllDeclared,
  checkDeclared,
  readChoiceWord,
  readFunctionTools,
  TOOL_CHOICES,
  toFunctionTool,
  type FunctionBody,
} from '../function-tools.ts';
import { listOf, MAX_CHAT_TOOLS } from '../bounds.ts';
import { noteUnread } from '../unread-fields.ts';
import { invalidChoice, parseBody } from '../validation.ts';
import type { CreateChat } from './schema.ts';

export interface ReadTools {
  readonly tools: readonly FunctionTool[];
  readonly choice: ToolChoice;
  /** The client uses the older `functions`: its answer has at most one call, as `function_call`. */
  readonly isLegacy: boolean;
}

export const readChatTools = (given: CreateChat, ignored: string[]): ReadTools => {
  if (!given.functions) {
    const tools = readTools(given.tools ?? [], ignored);
    // Alone it may only say what holds anyway.
    readFunctionCall(given.function_call, []);
    return { tools, choice: readToolChoice(given.tool_choice, tools), isLegacy: false };
  }
  if (given.tools || (given.tool_choice ?? null) !== null) {
    throw gatewayError('invalid_value', {
      param: 'functions',
      message: "Invalid 'functions': 'functions' and 'tools' cannot be used in the same request.",
    });
  }
  const tools = given.functions.map((one) => toFunctionTool(looseUnlessSaid(one)));
  return { tools, choice: readFunctionCall(given.function_call, tools), isLegacy: true };
};

const toolSchema = z.object({ type: z.literal('function'), function: z.object(functionFields) });

const readTools = (given: readonly unknown[], ignored: string[]): readonly FunctionTool[] =>
  readFunctionTools(given, (value, at) => {
    const tool = parseBody(toolSchema, value, at).function;
    noteUnread(ignored, toolSchema, value, at);
    return looseUnlessSaid(tool);
  });

/** In Chat a function is strict only if the client says so; a Responses backend may take it for strict. */
const looseUnlessSaid = (tool: FunctionBody): FunctionBody => ({ ...tool, strict: tool.strict ?? false });

const named = z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) });
const allowed = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: listOf(named, MAX_CHAT_TOOLS, 1) }),
});

const readToolChoice = (given: unknown, tools: readonly FunctionTool[]): ToolChoice => {
  const word = readChoiceWord(given, tools);
  if (word !== null) return word;
  const type = isJsonObject(given) ? given['type'] : undefined;
  if (type === 'function') {
    const { name } = parseBody(named, given, 'tool_choice').function;
    checkDeclared(name, tools, 'tool_choice.function.name');
    return { mode: 'function', name };
  }
  if (type === 'allowed_tools') {
    const { mode, tools: some } = parseBody(allowed, given, 'tool_choice').allowed_tools;
    const names = some.map((tool) => tool.function.name);
    checkAllDeclared(names, tools, (index) => `tool_choice.allowed_tools.tools[${index}].function.name`);
    return { mode: 'allowed', required: mode === 'required', names };
  }
  throw invalidChoice('tool_choice', type ?? given, TOOL_CHOICES);
};

const readFunctionCall = (given: CreateChat['function_call'], tools: readonly FunctionTool[]): ToolChoice => {
  if (given === undefined || given === null || given === 'auto') return { mode: 'auto' };
  if (given === 'none') return { mode: 'none' };
  checkDeclared(given.name, tools, 'function_call.name', 'functions');
  return { mode: 'function', name: given.name };
};
