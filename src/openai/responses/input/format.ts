import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { OutputFormat } from '../../../canonical/request/turn-request.ts';
import { isSameJson, isJsonObject } from '../../../kit/json/json.ts';
import { jsonObject, listOf, MAX_TOOLS } from '../../../apis/bounds.ts';
import { shortName } from '../../shared/field-schemas.ts';
import { missing, invalidChoice, parseBody } from '../../../apis/validation.ts';
import type { RawTool, Tool, ToolChoice, ToolRef } from '../../../canonical/request/tool.ts';
import { checkDeclared } from '../../../apis/schema-problem.ts';
import { readChoiceWord, TOOL_CHOICES } from '../../shared/read-tools.ts';

const schemaFields = {
  name: shortName.optional(),
  description: z.string().nullish(),
  schema: jsonObject.optional(),
  strict: z.boolean().nullish(),
} as const;

/** `text.format`: the fields of a JSON schema are next to its type. */
export const textFormat = z.object({ type: z.enum(['text', 'json_object', 'json_schema']), ...schemaFields });

/** Chat's `response_format`, in Chat's nested form or in that of `text.format`. */
export const responseFormat = z.object({
  ...textFormat.shape,
  json_schema: z.object(schemaFields).nullish(),
});

type TextFormat = z.output<typeof textFormat>;

interface GivenFormats {
  readonly text?: { readonly format?: TextFormat | null | undefined } | null | undefined;
  readonly response_format?: z.output<typeof responseFormat> | null | undefined;
}

export interface ReadFormat {
  readonly format: OutputFormat;
  /** In the form of `text.format`; null: the request has no format. */
  readonly spelled: TextFormat | null;
  /** The parameter that contains it. */
  readonly param: 'text.format' | 'response_format';
  /** The location of its fields in the body. */
  readonly place: string;
}

/** Parses the output format. Clients of Chat send `response_format`. Throws if both are sent and differ. */
export const readFormat = ({ text, response_format: moved }: GivenFormats): ReadFormat => {
  const own = text?.format ?? null;
  const place = 'text.format';
  const named: ReadFormat = { format: formatOf(own, place), spelled: own, param: place, place };
  if (!moved) return named;
  const { json_schema: inner, ...flat } = moved;
  const spelled: TextFormat = inner ? { ...inner, type: flat.type } : flat;
  const movedTo = inner || flat.schema === undefined ? 'response_format.json_schema' : 'response_format';
  const other = {
    format: formatOf(spelled, movedTo),
    spelled,
    param: 'response_format',
    place: movedTo,
  } as const;
  if (own === null || isSameJson(named.format, other.format)) return other;
  throw gatewayError('invalid_value', {
    param: 'response_format',
    message:
      "Invalid 'response_format': it differs from 'text.format'. In the Responses API both name the output format; send one of them.",
  });
};

export const formatOf = (format: TextFormat | null, place: string): OutputFormat => {
  if (format === null || format.type === 'text') return { kind: 'text' };
  if (format.type === 'json_object') return { kind: 'json-object' };
  if (format.name === undefined) throw missing(`${place}.name`);
  if (format.schema === undefined) throw missing(`${place}.schema`);
  return {
    kind: 'json-schema',
    name: format.name,
    description: format.description ?? null,
    schema: format.schema,
    strict: format.strict ?? null,
  };
};

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
