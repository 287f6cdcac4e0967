import { z } from 'zod';

import { fail } from '../../canonical/failure.ts';
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
  type WireFunction,
} from '../function-tools.ts';
import { listOf, MAX_CHAT_TOOLS } from '../bounds.ts';
import { noteUnread } from '../unread-fields.ts';
import { invalidChoice, parseWire } from '../validation.ts';
import type { CreateChat } from './schema.ts';

export interface ReadTools {
  readonly tools: readonly FunctionTool[];
  readonly choice: ToolChoice;
  /** The client uses the older `functions`: its answer has at most one call, as `function_call`. */
  readonly isLegacy: boolean;
}

export const readChatTools = (wire: CreateChat, ignored: string[]): ReadTools => {
  if (!wire.functions) {
    const tools = readTools(wire.tools ?? [], ignored);
    // Alone it may only say what holds anyway.
    readFunctionCall(wire.function_call, []);
    return { tools, choice: readToolChoice(wire.tool_choice, tools), isLegacy: false };
  }
  if (wire.tools || (wire.tool_choice ?? null) !== null) {
    throw fail('invalid_value', {
      param: 'functions',
      message: "Invalid 'functions': 'functions' and 'tools' cannot be used in the same request.",
    });
  }
  const tools = wire.functions.map((one) => toFunctionTool(looseUnlessSaid(one)));
  return { tools, choice: readFunctionCall(wire.function_call, tools), isLegacy: true };
};

const toolSchema = z.object({ type: z.literal('function'), function: z.object(functionFields) });

const readTools = (wire: readonly unknown[], ignored: string[]): readonly FunctionTool[] =>
  readFunctionTools(wire, (value, at) => {
    const tool = parseWire(toolSchema, value, at).function;
    noteUnread(ignored, toolSchema, value, at);
    return looseUnlessSaid(tool);
  });

/** In Chat a function is strict only if the client says so; a Responses backend may take it for strict. */
const looseUnlessSaid = (tool: WireFunction): WireFunction => ({ ...tool, strict: tool.strict ?? false });

const named = z.object({ type: z.literal('function'), function: z.object({ name: z.string().min(1) }) });
const allowed = z.object({
  type: z.literal('allowed_tools'),
  allowed_tools: z.object({ mode: z.enum(['auto', 'required']), tools: listOf(named, MAX_CHAT_TOOLS, 1) }),
});

const readToolChoice = (wire: unknown, tools: readonly FunctionTool[]): ToolChoice => {
  const word = readChoiceWord(wire, tools);
  if (word !== null) return word;
  const type = isJsonObject(wire) ? wire['type'] : undefined;
  if (type === 'function') {
    const { name } = parseWire(named, wire, 'tool_choice').function;
    checkDeclared(name, tools, 'tool_choice.function.name');
    return { mode: 'function', name };
  }
  if (type === 'allowed_tools') {
    const { mode, tools: some } = parseWire(allowed, wire, 'tool_choice').allowed_tools;
    const names = some.map((tool) => tool.function.name);
    checkAllDeclared(names, tools, (index) => `tool_choice.allowed_tools.tools[${index}].function.name`);
    return { mode: 'allowed', required: mode === 'required', names };
  }
  throw invalidChoice('tool_choice', type ?? wire, TOOL_CHOICES);
};

const readFunctionCall = (wire: CreateChat['function_call'], tools: readonly FunctionTool[]): ToolChoice => {
  if (wire === undefined || wire === null || wire === 'auto') return { mode: 'auto' };
  if (wire === 'none') return { mode: 'none' };
  checkDeclared(wire.name, tools, 'function_call.name', 'functions');
  return { mode: 'function', name: wire.name };
};
