import { z } from 'zod';

import type { RawTool, Tool, ToolChoice, ToolRef } from '../../../canonical/request/tool.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { listOf, MAX_TOOLS } from '../../../apis/bounds.ts';
import { checkDeclared } from '../../../apis/check-tools.ts';
import { readChoiceWord, TOOL_CHOICES } from '../../shared/read-tools.ts';
import { invalidChoice, parseBody } from '../../../apis/validation.ts';

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

export const readToolChoice = (parsed: unknown, tools: readonly Tool[]): ToolChoice => {
  const word = readChoiceWord(parsed, tools);
  if (word !== null) return word;
  if (!isJsonObject(parsed)) throw invalidChoice('tool_choice', parsed, TOOL_CHOICES);
  if (parsed['type'] === 'allowed_tools') {
    const allowed = parseBody(allowedSchema, parsed, 'tool_choice');
    const refs = allowed.tools.map((tool, index) => readRef(tool, `tool_choice.tools[${index}]`));
    checkDeclared(refs, tools, (index) => `tool_choice.tools[${index}].name`);
    return { mode: 'allowed', required: allowed.mode === 'required', tools: refs };
  }
  const tool = readRef(parseBody(named, parsed, 'tool_choice'), 'tool_choice');
  checkDeclared([tool], tools, () => 'tool_choice');
  return { mode: 'named', tool };
};

/** Parses a tool reference. A hosted tool is named by its type. */
const readRef = (parsed: z.output<typeof named>, at: string): ToolRef => {
  if (parsed.type !== 'function' && parsed.type !== 'custom')
    return { kind: 'hosted', raw: parsed as RawTool };
  const { type: kind, name, namespace } = parseBody(calledSchema, parsed, at);
  return { kind, name, ...(namespace === undefined ? {} : { namespace }) };
};
