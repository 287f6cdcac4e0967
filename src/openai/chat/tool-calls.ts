import { z } from 'zod';

import type { ToolCall } from '../../canonical/request/item.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { idText, longText } from '../shared/bounds.ts';
import { noteUnread } from '../shared/unread-fields.ts';
import { invalidChoice, missing, parseBody } from '../shared/validation.ts';

export const functionCallSchema = z.object({ name: idText, arguments: longText });

const id = idText;
/** Occurs in chunks, and some clients send it back. */
const index = z.unknown().optional();
const functionCall = z.object({ id, index, type: z.literal('function'), function: functionCallSchema });
const customCall = z.object({
  id,
  index,
  type: z.literal('custom'),
  custom: z.object({ name: idText, input: longText }),
});

/** A call in an earlier assistant message. */
export const readToolCall = (value: unknown, at: string, ignored: string[]): ToolCall => {
  const type = isJsonObject(value) ? value['type'] : undefined;
  if (type === 'function') {
    const parsed = parseBody(functionCall, value, at);
    noteUnread(ignored, functionCall, value, at);
    const { name, arguments: input } = parsed.function;
    return { kind: 'tool-call', tool: 'function', callId: parsed.id, name, input };
  }
  if (type === 'custom') {
    const parsed = parseBody(customCall, value, at);
    noteUnread(ignored, customCall, value, at);
    return { kind: 'tool-call', tool: 'custom', callId: parsed.id, ...parsed.custom };
  }
  if (type === undefined) throw missing(`${at}.type`);
  throw invalidChoice(`${at}.type`, type, ['function', 'custom']);
};
