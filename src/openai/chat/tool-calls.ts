import { z } from 'zod';

import type { ToolCall } from '../../canonical/request/item.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { idText, longText } from '../../apis/bounds.ts';
import { noteUnread } from '../../apis/unread-fields.ts';
import { invalidChoice, missing, parseBody } from '../../apis/validation.ts';

export const functionCallSchema = z.object({ name: idText, arguments: longText });

/** Some clients send back the index that calls have in chunks. */
const head = { id: idText, index: z.unknown().optional() };
const schemas = {
  function: z.object({ ...head, type: z.literal('function'), function: functionCallSchema }),
  custom: z.object({
    ...head,
    type: z.literal('custom'),
    custom: z.object({ name: idText, input: longText }),
  }),
};

/** A call in an earlier assistant message. */
export const readToolCall = (value: unknown, at: string, ignored: string[]): ToolCall => {
  const type = isJsonObject(value) ? value['type'] : undefined;
  if (type === undefined) throw missing(`${at}.type`);
  if (type !== 'function' && type !== 'custom') {
    throw invalidChoice(`${at}.type`, type, ['function', 'custom']);
  }
  const parsed = parseBody(schemas[type], value, at);
  noteUnread(ignored, schemas[type], value, at);
  const call = { kind: 'tool-call', tool: type, callId: parsed.id } as const;
  if (parsed.type === 'custom') return { ...call, ...parsed.custom };
  return { ...call, name: parsed.function.name, input: parsed.function.arguments };
};
