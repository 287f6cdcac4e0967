import { z } from 'zod';

import type { CustomCallItem, FunctionCallItem } from '../../canonical/item.ts';
import { isJsonObject } from '../../kit/json.ts';
import { unreadFields } from '../unread-fields.ts';
import { invalidChoice, missing, parseWire } from '../validation.ts';
import { append } from '../../kit/append.ts';

export const functionCallSchema = z.object({ name: z.string().min(1), arguments: z.string() });

const id = z.string().min(1);
/** Stands in chunks, and comes back from clients that put them together. */
const index = z.unknown().optional();
const functionCall = z.object({ id, index, type: z.literal('function'), function: functionCallSchema });
const customCall = z.object({
  id,
  index,
  type: z.literal('custom'),
  custom: z.object({ name: z.string().min(1), input: z.string() }),
});

/** A call that the assistant made earlier. */
export const readToolCall = (
  value: unknown,
  at: string,
  ignored: string[],
): FunctionCallItem | CustomCallItem => {
  const type = isJsonObject(value) ? value['type'] : undefined;
  if (type === 'function') {
    const wire = parseWire(functionCall, value, at);
    append(ignored, unreadFields(functionCall, value, at));
    return { kind: 'function-call', callId: wire.id, ...wire.function };
  }
  if (type === 'custom') {
    const wire = parseWire(customCall, value, at);
    append(ignored, unreadFields(customCall, value, at));
    return { kind: 'custom-call', callId: wire.id, ...wire.custom };
  }
  if (type === undefined) throw missing(`${at}.type`);
  throw invalidChoice(`${at}.type`, type, ['function', 'custom']);
};
