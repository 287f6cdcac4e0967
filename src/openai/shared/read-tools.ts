import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  type CustomTool,
  type FunctionTool,
  type NamespaceMember,
  type RawTool,
  type Tool,
  type ToolChoice,
} from '../../canonical/request/tool.ts';
import { isJsonObject, present, type Json, type JsonObject } from '../../kit/json/json.ts';
import { customFields, functionFields } from './field-schemas.ts';
import { idText, list, longText, MAX_TOOLS, rejectTooManyParts } from '../../apis/bounds.ts';
import { parseBody, readTagged } from '../../apis/validation.ts';

/** The declaration of a function or a custom tool, which both APIs share, with any other fields. */
const functionBody = z.looseObject(functionFields);
const customBody = z.looseObject(customFields);
export type FunctionBody = z.output<typeof functionBody>;
type CustomBody = z.output<typeof customBody>;

export const toFunctionTool = ({
  name,
  description,
  parameters,
  strict,
  ...more
}: FunctionBody): FunctionTool => ({
  kind: 'function',
  name,
  description: description ?? null,
  parameters: parameters ?? null,
  strict: strict ?? null,
  ...otherFields(more),
});

/** Null fields are treated as absent. */
const otherFields = (parsed: Readonly<Record<string, unknown>>): Pick<FunctionTool, 'more'> => {
  const more = present(parsed as JsonObject);
  return Object.keys(more).length === 0 ? {} : { more };
};

const toCustomTool = ({ name, description, format, ...more }: CustomBody): CustomTool => ({
  kind: 'custom',
  name,
  description: description ?? null,
  format: format ?? null,
  ...otherFields(more),
});

export const TOOL_FORMATS = ['text', 'grammar'] as const;
export const grammarSchema = z.looseObject({ syntax: z.enum(['lark', 'regex']), definition: longText });

/** Validates the input format of a custom tool. */
const readFormat = (format: JsonObject | null | undefined, at: string): JsonObject | null => {
  if (!format) return null;
  if (readTagged(format, 'type', TOOL_FORMATS, at).tag === 'grammar') parseBody(grammarSchema, format, at);
  return format;
};

/** Parses the tools that the client runs; the format of a custom tool is in Responses form. Other tools have the same form in all APIs. */
export interface ToolReaders {
  readonly function: (value: unknown, at: string) => FunctionBody;
  readonly custom: (value: unknown, at: string) => CustomBody;
}

const functionSchema = functionBody.extend({ type: z.literal('function') });
const customSchema = customBody.extend({ type: z.literal('custom') });

/** For Responses, and for the members of a namespace in either API. */
export const PLAIN_READERS: ToolReaders = {
  function(value, at) {
    const { type: _, ...tool } = parseBody(functionSchema, value, at);
    return tool;
  },
  custom(value, at) {
    const { type: _, format, ...tool } = parseBody(customSchema, value, at);
    return { ...tool, format: readFormat(format, `${at}.format`) };
  },
};

/** How a body declares its tools, and where. */
export interface ToolForm {
  readonly readers: ToolReaders;
  readonly placeOf: (index: number) => string;
}

export const PLAIN_FORM: ToolForm = { readers: PLAIN_READERS, placeOf: (index) => `tools[${index}]` };

/** Parses the tools of a request or of an item. Whether the backend supports them is checked later. */
export const readToolList = (
  parsed: readonly unknown[],
  readers: ToolReaders,
  place = 'tools',
): readonly Tool[] => {
  rejectTooManyParts([{ tools: parsed as Json }], place);
  return parsed.map((value, index) => {
    const at = `${place}[${index}]`;
    const type = parseBody(idText, isJsonObject(value) ? value['type'] : undefined, `${at}.type`);
    if (type === 'function') return toFunctionTool(readers.function(value, at));
    if (type === 'custom') return toCustomTool(readers.custom(value, at));
    const raw: RawTool = { ...(value as RawTool), type };
    if (type !== 'namespace') return { kind: 'hosted', raw };
    const { name, tools } = parseBody(namespaceSchema, raw, at);
    return { kind: 'namespace', name, raw, members: readMembers(tools, `${at}.tools`) };
  });
};

const namespaceSchema = z.object({ name: idText, tools: list(MAX_TOOLS) });

const readMembers = (parsed: readonly unknown[], place: string): readonly NamespaceMember[] =>
  parsed.map((value, index) => {
    const at = `${place}[${index}]`;
    const { tag: tool } = readTagged(value, 'type', ['function', 'custom'], at);
    return { tool, name: PLAIN_READERS[tool](value, at).name };
  });

/** Parses a tool choice that is a string; null for other choices. */
export const readChoiceWord = (parsed: unknown, tools: readonly Tool[]): ToolChoice | null => {
  if (parsed === undefined || parsed === null || parsed === 'auto') return { mode: 'auto' };
  if (parsed === 'none') return { mode: 'none' };
  if (parsed !== 'required') return null;
  if (tools.length === 0) {
    throw gatewayError('invalid_value', {
      param: 'tool_choice',
      message: "Tool choice 'required' must be specified with 'tools' parameter.",
    });
  }
  return { mode: 'required' };
};

export const TOOL_CHOICES = ['none', 'auto', 'required', 'function', 'custom', 'allowed_tools'] as const;
