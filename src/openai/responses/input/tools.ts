import { z } from 'zod';

import type { RawTool, Tool, ToolChoice, ToolRef } from '../../../canonical/request/tool.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { listOf, MAX_TOOLS } from '../../shared/bounds.ts';
import { checkDeclared, readChoiceWord, TOOL_CHOICES } from '../../shared/read-tools.ts';
import { invalidChoice, parseBody } from '../../shared/validation.ts';

const named = z.looseObject({ type: z.string().min(1) });
const calledSchema = z.object({
  type: z.enum(['function', 'custom']),
  name: z.string().min(1),
  namespace: z.string().min(1).optional(),
});
const allowedSchema = z.object({
  type: z.literal('allowed_tools'),
  mode: z.enum(['auto', 'required']),
  tools: listOf(named, MAX_TOOLS, 1),
});

export const readToolChoice = (given: unknown, tools: readonly Tool[]): ToolChoice => {
  const word = readChoiceWord(given, tools);
  if (word !== null) return word;
  if (!isJsonObject(given)) throw invalidChoice('tool_choice', given, TOOL_CHOICES);
  if (given['type'] === 'allowed_tools') {
    const allowed = parseBody(allowedSchema, given, 'tool_choice');
    const refs = allowed.tools.map((tool, index) => readRef(tool, `tool_choice.tools[${index}]`));
    checkDeclared(refs, tools, (index) => `tool_choice.tools[${index}].name`);
    return { mode: 'allowed', required: allowed.mode === 'required', tools: refs };
  }
  const tool = readRef(parseBody(named, given, 'tool_choice'), 'tool_choice');
  checkDeclared([tool], tools, () => 'tool_choice');
  return { mode: 'named', tool };
};

/** Parses a tool reference. A hosted tool is named by its type. */
const readRef = (given: z.output<typeof named>, at: string): ToolRef => {
  if (given.type !== 'function' && given.type !== 'custom') return { kind: 'hosted', raw: given as RawTool };
  const { type: kind, name, namespace } = parseBody(calledSchema, given, at);
  return { kind, name, ...(namespace === undefined ? {} : { namespace }) };
};
