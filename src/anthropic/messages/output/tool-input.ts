import type { ToolCall } from '../../../canonical/request/item.ts';
import { parseJsonObject, type JsonObject } from '../../../kit/json/json.ts';

/**
 * The arguments of a call; null if they are cut. `tool_use` holds an object, so any other text becomes the field
 * `arguments`: the client then reports a schema violation, and nothing is lost.
 */
export const toolInput = ({ input, status }: Pick<ToolCall, 'input' | 'status'>): JsonObject | null => {
  const parsed = parseJsonObject(input);
  if (parsed !== null) return parsed;
  if (status === 'incomplete') return null;
  return isBlank(input) ? {} : { arguments: input };
};

/** Sends the arguments of one call as they arrive. */
export class ToolInputStream {
  #kind: 'unknown' | 'object' | 'other' = 'unknown';
  /** White space in front. */
  #held = '';

  /** The text to send now. */
  add(delta: string): string {
    if (this.#kind !== 'unknown') return this.#kind === 'object' ? delta : '';
    const first = /[^ \t\n\r]/.exec(delta)?.[0];
    const text = this.#held + delta;
    if (first === undefined) this.#held = text;
    else this.#kind = first === '{' ? 'object' : 'other';
    return first === '{' ? text : '';
  }

  /** The rest to send at the end of the call; null if it is cut, or what was sent is not valid JSON. */
  end(call: Pick<ToolCall, 'input' | 'status'>): string | null {
    if (this.#kind === 'object') return parseJsonObject(call.input) === null ? null : '';
    const input = toolInput(call);
    if (input === null) return null;
    return this.#kind === 'unknown' ? '' : JSON.stringify(input);
  }
}

const isBlank = (text: string): boolean => /^[ \t\n\r]*$/.test(text);
