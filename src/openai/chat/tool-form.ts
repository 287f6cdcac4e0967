import { z } from 'zod';

import type { Tool } from '../../canonical/request/tool.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { customFields, functionFields } from '../shared/field-schemas.ts';
import {
  FORMATS,
  grammarSchema,
  PLAIN_FORM,
  type FunctionBody,
  type ToolForm,
} from '../shared/read-tools.ts';
import { noteUnread } from '../../apis/unread-fields.ts';
import { parseBody, readTagged } from '../../apis/validation.ts';

/** Parses tools in Chat's form, which is nested one level deeper, and in Responses form. Cursor mixes both. */
export const eitherForm = (parsed: readonly unknown[], ignored: string[]): ToolForm => ({
  readers: {
    function(value, at) {
      if (isFlat(value)) return PLAIN_FORM.readers.function(value, at);
      const tool = parseBody(functionSchema, value, at).function;
      noteUnread(ignored, functionSchema, value, at);
      return looseUnlessSaid(tool);
    },
    custom(value, at) {
      if (isFlat(value)) return PLAIN_FORM.readers.custom(value, at);
      const { format, ...tool } = parseBody(customSchema, value, at).custom;
      noteUnread(ignored, customSchema, value, at);
      return { ...tool, format: flatFormat(format, `${at}.custom.format`) };
    },
  },
  placeOf(index) {
    const tool = parsed[index];
    const type = isJsonObject(tool) ? tool['type'] : null;
    const place = PLAIN_FORM.placeOf(index);
    return (type === 'function' || type === 'custom') && !isFlat(tool) ? `${place}.${type}` : place;
  },
});

const functionSchema = z.object({ type: z.literal('function'), function: z.looseObject(functionFields) });
const customSchema = z.object({ type: z.literal('custom'), custom: z.looseObject(customFields) });
/** Chat also nests a grammar one level deeper. */
const formatSchema = z.looseObject({ grammar: grammarSchema });

const isFlat = (tool: unknown): boolean =>
  isJsonObject(tool) && 'name' in tool && !('function' in tool) && !('custom' in tool);

const flatFormat = (format: JsonObject | null | undefined, at: string): JsonObject | null => {
  if (!format || readTagged(format, 'type', FORMATS, at).tag !== 'grammar') return format ?? null;
  const { grammar, ...rest } = parseBody(formatSchema, format, at);
  return { ...rest, ...grammar } as JsonObject;
};

/** In Chat a function is not strict by default, but a Responses backend may treat it as strict. */
export const looseUnlessSaid = (tool: FunctionBody): FunctionBody => ({
  ...tool,
  strict: tool.strict ?? false,
});

/** Custom tools in Responses form: a client that sends them does not understand Chat's custom calls. */
export const flatCustomNames = (parsed: readonly unknown[], tools: readonly Tool[]): ReadonlySet<string> =>
  new Set(
    tools.flatMap((tool, index) => (tool.kind === 'custom' && isFlat(parsed[index]) ? [tool.name] : [])),
  );
