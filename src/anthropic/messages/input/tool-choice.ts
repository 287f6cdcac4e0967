import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Tool, ToolChoice, ToolRef } from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { idText } from '../../../apis/bounds.ts';
import { checkDeclared } from '../../../apis/check-tools.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import { backendName } from '../tool-names.ts';
import type { JsonObject } from '../../../kit/json/json.ts';

const CHOICES = ['auto', 'any', 'tool', 'none'] as const;
const choiceSchema = z.object({ type: z.enum(CHOICES), disable_parallel_tool_use: z.boolean().nullish() });
const namedSchema = choiceSchema.extend({ name: idText });

/** Reads the tool choice. `tools` are all tools that the model can call. */
export const readToolChoice = (
  parsed: JsonObject | null | undefined,
  tools: readonly Tool[],
  ignored: string[],
): Pick<TurnRequest, 'toolChoice' | 'parallelToolCalls'> => {
  if (!parsed) return { toolChoice: { mode: 'auto' }, parallelToolCalls: null };
  const { tag } = readTagged(parsed, 'type', CHOICES, 'tool_choice');
  const schema = tag === 'tool' ? namedSchema : choiceSchema;
  noteUnread(ignored, schema, parsed, 'tool_choice');
  const { disable_parallel_tool_use: isOneByOne } = parseBody(schema, parsed, 'tool_choice');
  return {
    toolChoice: tag === 'tool' ? namedChoice(parsed, tools) : choiceOf(tag, tools),
    parallelToolCalls: isOneByOne === true ? false : null,
  };
};

const choiceOf = (tag: 'auto' | 'any' | 'none', tools: readonly Tool[]): ToolChoice => {
  if (tag !== 'any') return { mode: tag };
  if (tools.length > 0) return { mode: 'required' };
  throw gatewayError('invalid_value', {
    param: 'tool_choice',
    message: "Tool choice 'any' must be specified with 'tools' parameter.",
  });
};

const namedChoice = (parsed: JsonObject, tools: readonly Tool[]): ToolChoice => {
  const { name } = parseBody(namedSchema, parsed, 'tool_choice');
  const isHosted = tools.some((tool) => tool.kind === 'hosted' && tool.raw.type === name);
  const tool: ToolRef = isHosted
    ? { kind: 'hosted', raw: { type: name } }
    : { kind: 'function', name: backendName(name) };
  checkDeclared([tool], tools, () => 'tool_choice.name');
  return { mode: 'named', tool };
};
