import { z } from 'zod';

import { gatewayError } from '../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';

/** Limits on the size of a request. Ours are far above what clients send; they bound the time to parse it. */

/** OpenAI's limit for a text. */
export const MAX_TEXT = 10_485_760;
/** OpenAI's limit in Chat, for tools, functions, and the calls of one message. */
export const MAX_CHAT_TOOLS = 128;
/** OpenAI's limit. */
export const MAX_STOPS = 4;
/** Our limits from here on: OpenAI documents none. */
export const MAX_TOOLS = 1_024;
export const MAX_INPUT_ITEMS = 10_000;
/** For one item, and for all items together. */
export const MAX_PARTS = 20_000;
export const MAX_STOP_CHARS = 4_096;
/** For ids and names. Some clients store data in ids. Hashing longer strings would be slow. */
export const MAX_ID_CHARS = 16_000;
/** For short lists, such as `include`. */
export const MAX_WORDS = 100;

/** A text of any practical length. */
export const longText = z.string().max(MAX_TEXT);

/** An id, or the name of a called tool. */
export const idText = z.string().min(1).max(MAX_ID_CHARS);

type Problem = Parameters<Parameters<z.ZodType['check']>[0] & z.core.CheckFn<unknown>>[0]['issues'][number];

/** Checks only the outer type of a value. Its content comes from JSON and may be parsed elsewhere. */
const shallowCheck = <Value>(problemOf: (value: unknown) => Problem | null): z.ZodType<Value> =>
  z.unknown().check((context) => {
    const problem = problemOf(context.value);
    if (problem !== null) context.issues.push(problem);
  }) as unknown as z.ZodType<Value>;

export const jsonObject = shallowCheck<JsonObject>((input) =>
  isJsonObject(input) ? null : { code: 'invalid_type', expected: 'record', input, continue: false },
);

/** A list whose elements are parsed one by one. Its length is checked first. */
export const list = (max: number): z.ZodType<readonly unknown[]> =>
  shallowCheck((input) => {
    if (!Array.isArray(input)) return { code: 'invalid_type', expected: 'array', input, continue: false };
    if (input.length <= max) return null;
    return { code: 'too_big', origin: 'array', maximum: max, inclusive: true, input, continue: false };
  });

export const listOf = <Element extends z.ZodType>(element: Element, max: number, min = 0) =>
  list(max).pipe(z.array(element).min(min));

/** List fields of an item, in either API. */
const LISTS = ['content', 'output', 'summary', 'tool_calls', 'tools'] as const;

const membersIn = (tool: unknown): number =>
  isJsonObject(tool) && Array.isArray(tool['tools']) ? tool['tools'].length : 0;

/** How deep blocks contain blocks: the text of a document in the result of a tool. Deeper ones are not parsed. */
const MAX_NESTING = 3;

/** Counts blocks inside of a block, such as the parts of a tool's result. */
const blocksIn = (block: unknown, depth = 1): number => {
  if (!isJsonObject(block) || depth > MAX_NESTING) return 0;
  const { content, source } = block;
  const inner = Array.isArray(content) ? content : isJsonObject(source) ? source['content'] : null;
  if (!Array.isArray(inner)) return 0;
  let blocks = inner.length;
  for (const one of inner) blocks += blocksIn(one, depth + 1);
  return blocks;
};

/** Throws if the items have too many parts in total. Runs before any part is parsed. */
export const rejectTooManyParts = (items: readonly unknown[], param: string): void => {
  let parts = 0;
  for (const item of items) {
    if (!isJsonObject(item)) continue;
    for (const name of LISTS) {
      const members = item[name];
      if (!Array.isArray(members)) continue;
      parts += members.length;
      // Namespaces contain more tools.
      if (name === 'tools') for (const member of members) parts += membersIn(member);
      if (name === 'content') for (const member of members) parts += blocksIn(member);
    }
  }
  if (parts <= MAX_PARTS) return;
  throw gatewayError('invalid_value', {
    param,
    code: 'array_above_max_length',
    message: `Invalid '${param}': too many parts. Expected at most ${MAX_PARTS} in all items, but got ${parts} instead.`,
  });
};
