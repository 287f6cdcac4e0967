import { z } from 'zod';

import type { FunctionTool, ToolChoice } from '../../canonical/turn-request.ts';
import { isJsonObject } from '../../kit/json.ts';
import {
  checkAllDeclared,
  checkDeclared,
  readChoiceWord,
  readFunctionTools,
  TOOL_CHOICES,
} from '../function-tools.ts';
import { listOf, MAX_TOOLS } from '../bounds.ts';
import { noteUnread } from '../unread-fields.ts';
import { invalidChoice, parseBody } from '../validation.ts';
import { functionToolSchema } from './schema.ts';

export const readTools = (given: readonly unknown[], unread: string[]): readonly FunctionTool[] =>
  readFunctionTools(given, (value, at) => {
    const tool = parseBody(functionToolSchema, value, at);
    noteUnread(unread, functionToolSchema, value, at);
    return tool;
  });

const forcedSchema = z.object({ type: z.literal('function'), name: z.string().min(1) });
const allowedSchema = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: listOf(z.object({ type: z.literal('function'), name: z.string().min(1) }), MAX_TOOLS, 1),
});

export const readToolChoice = (given: unknown, tools: readonly FunctionTool[]): ToolChoice => {
  const word = readChoiceWord(given, tools);
  if (word !== null) return word;
  const type = isJsonObject(given) ? given['type'] : undefined;
  if (type === 'function') {
    const { name } = parseBody(forcedSchema, given, 'tool_choice');
    checkDeclared(name, tools, 'tool_choice');
    return { mode: 'function', name };
  }
  if (type === 'allowed_tools') {
    const allowed = parseBody(allowedSchema, given, 'tool_choice');
    const names = allowed.tools.map((tool) => tool.name);
    checkAllDeclared(names, tools, (index) => `tool_choice.tools[${index}].name`);
    return { mode: 'allowed', required: allowed.mode === 'required', names };
  }
  throw invalidChoice('tool_choice', type ?? given, TOOL_CHOICES);
};
