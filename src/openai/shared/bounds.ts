import { z } from 'zod';

import { gatewayError } from '../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';

/**
 * How much a request may hold. Bounds of OpenAI's are OpenAI's; where it names none, ours are far
 * beyond what any client sends, and keep the time small in which a request is read.
 */

/** OpenAI's, for a text. */
const MAX_TEXT = 10_485_760;
/** OpenAI's, for Chat: tools, functions, and calls of one message. */
export const MAX_CHAT_TOOLS = 128;
/** OpenAI's. */
export const MAX_STOPS = 4;
/** Ours: OpenAI names none. */
export const MAX_TOOLS = 1_024;
export const MAX_ITEMS = 10_000;
/** Of one item, and of all items together. */
export const MAX_PARTS = 20_000;
export const MAX_STOP_CHARS = 4_096;
/**
 * Of ids and names. Some clients keep more in an id than a name; beyond this length the engine tells
 * texts apart only by comparing them, one by one.
 */
export const MAX_ID_CHARS = 16_000;
/** Of lists that hold a few words. */
export const MAX_WORDS = 100;

/** A text, which may be a whole book. */
export const longText = z.string().max(MAX_TEXT);

/** An id, or the name of something that was called. */
export const idText = z.string().min(1).max(MAX_ID_CHARS);

type Problem = Parameters<Parameters<z.ZodType['check']>[0] & z.core.CheckFn<unknown>>[0]['issues'][number];

/** Looks at a value from outside only: what is in it came from JSON, and somebody else may read it. */
const looksLike = <Value>(problemOf: (value: unknown) => Problem | null): z.ZodType<Value> =>
  z.unknown().check((context) => {
    const problem = problemOf(context.value);
    if (problem !== null) context.issues.push(problem);
  }) as unknown as z.ZodType<Value>;

export const jsonObject = looksLike<JsonObject>((input) =>
  isJsonObject(input) ? null : { code: 'invalid_type', expected: 'record', input, continue: false },
);

/** A list whose elements are read one by one. It is refused for its length before anybody goes through it. */
export const list = (max: number): z.ZodType<readonly unknown[]> =>
  looksLike((input) => {
    if (!Array.isArray(input)) return { code: 'invalid_type', expected: 'array', input, continue: false };
    if (input.length <= max) return null;
    return { code: 'too_big', origin: 'array', maximum: max, inclusive: true, input, continue: false };
  });

export const listOf = <Element extends z.ZodType>(element: Element, max: number, min = 0) =>
  list(max).pipe(z.array(element).min(min));

/** Members of an item that are lists, in either API. */
const LISTS = ['content', 'output', 'summary', 'tool_calls', 'tools'] as const;

const membersIn = (tool: unknown): number =>
  isJsonObject(tool) && Array.isArray(tool['tools']) ? tool['tools'].length : 0;

/** All the parts of all the items together; they are counted before the first one is read. */
export const refuseTooManyParts = (items: readonly unknown[], param: string): void => {
  let parts = 0;
  for (const item of items) {
    if (!isJsonObject(item)) continue;
    for (const name of LISTS) {
      const members = item[name];
      if (!Array.isArray(members)) continue;
      parts += members.length;
      // Tools may stand in namespaces.
      if (name === 'tools') for (const member of members) parts += membersIn(member);
    }
  }
  if (parts <= MAX_PARTS) return;
  throw gatewayError('invalid_value', {
    param,
    code: 'array_above_max_length',
    message: `Invalid '${param}': too many parts. Expected at most ${MAX_PARTS} in all items, but got ${parts} instead.`,
  });
};
