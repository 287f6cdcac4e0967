import type { Item, Part } from '../../canonical/item.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import { toWirePart } from '../translate/inject-items.ts';

/**
 * What the app-server changes in a client's items on their way to the model, put back: the role
 * `system`, refusals, audio, and the detail of images.
 */
export interface InputEdit {
  /** Among the client's items. */
  readonly index: number;
  readonly members: JsonObject;
}

export const inputEdits = (items: readonly Item[], takesSystemRole: boolean): readonly InputEdit[] =>
  items.flatMap((item, index): InputEdit[] => {
    if (item.kind === 'message') {
      const role = item.role === 'system' && takesSystemRole ? { role: 'system' } : {};
      const content = item.parts.some(isChanged)
        ? { content: item.parts.map((part) => exactPart(part, item.role === 'assistant')) }
        : {};
      const members = { ...role, ...content };
      return Object.keys(members).length === 0 ? [] : [{ index, members }];
    }
    if (item.kind !== 'function-output' && item.kind !== 'custom-output') return [];
    if (typeof item.output === 'string' || !item.output.some(isChanged)) return [];
    return [{ index, members: { output: item.output.map((part) => exactPart(part, false)) } }];
  });

const isChanged = (part: Part): boolean =>
  part.kind === 'refusal' ||
  part.kind === 'audio' ||
  (part.kind === 'image' && (part.detail === 'low' || part.detail === 'original'));

/** The part as the client sent it, where the app-server's own form of it says less. */
const exactPart = (part: Part, fromAssistant: boolean): JsonObject => {
  if (part.kind === 'audio') {
    return { type: 'input_audio', input_audio: { data: part.data, format: part.format } };
  }
  if (part.kind === 'refusal' && fromAssistant) return { type: 'refusal', refusal: part.text };
  if (part.kind === 'image' && part.detail !== undefined) {
    return { ...toWirePart(part, fromAssistant), detail: part.detail };
  }
  return toWirePart(part, fromAssistant);
};

/**
 * Applies the edits to the `input` of a model request. The injected items stand behind what the
 * app-server put in front of them; if they are not found where they must be, nothing is changed.
 */
export const editInput = (
  input: readonly Json[],
  items: readonly Item[],
  edits: readonly InputEdit[],
  behind: number,
): readonly Json[] => {
  if (edits.length === 0) return input;
  const tools = isJsonObject(input[0]) && input[0]['type'] === 'additional_tools' ? 1 : 0;
  const start = tools + behind;
  if (!items.every((item, index) => isSame(item, input[start + index]))) return input;
  const edited = [...input];
  for (const { index, members } of edits) {
    const item = edited[start + index];
    if (isJsonObject(item)) edited[start + index] = { ...item, ...members };
  }
  return edited;
};

/** Whether the app-server's item can be what became of ours. */
const isSame = (item: Item, wire: Json | undefined): boolean => {
  if (!isJsonObject(wire)) return false;
  switch (item.kind) {
    case 'message':
      return (
        wire['type'] === 'message' && wire['role'] === (item.role === 'system' ? 'developer' : item.role)
      );
    case 'reasoning':
    case 'compaction':
      return wire['type'] === item.kind;
    case 'function-call':
      return wire['type'] === 'function_call' && wire['call_id'] === item.callId;
    case 'function-output':
      return wire['type'] === 'function_call_output' && wire['call_id'] === item.callId;
    case 'custom-call':
      return wire['type'] === 'custom_tool_call' && wire['call_id'] === item.callId;
    case 'custom-output':
      return wire['type'] === 'custom_tool_call_output' && wire['call_id'] === item.callId;
    case 'carried':
      return wire['type'] === item.wire.type;
    default:
      return assertNever(item);
  }
};
