import { isJsonObject, type Json, type JsonObject } from '../src/kit/json/json.ts';
import { promptOf, type Ask } from './workload.ts';

/**
 * What the model sees of a request, as lines: instructions, messages, tools. Unknown parts count as a whole, so that
 * nothing is hidden. Instructions count the same in their field, as with the relay, or in a message, as without.
 */
const linesOf = (body: JsonObject): readonly string[] => [
  ...(typeof body['instructions'] === 'string' && body['instructions'] !== ''
    ? [messageLine('"developer"', body['instructions'])]
    : []),
  ...listOf(body['input']).flatMap(itemLines),
  ...listOf(body['tools']).map(toolLine),
];

const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const itemLines = (item: Json): readonly string[] => {
  if (!isJsonObject(item)) return [JSON.stringify(item)];
  if (item['type'] === 'additional_tools') return listOf(item['tools']).flatMap(toolLines);
  if (item['type'] !== 'message') return [JSON.stringify(item)];
  return listOf(item['content']).map((part) =>
    isJsonObject(part) && typeof part['text'] === 'string'
      ? messageLine(JSON.stringify(item['role'] ?? null), part['text'])
      : JSON.stringify(part),
  );
};

const messageLine = (role: string, text: string): string => `${role} ${text}`;

/**
 * Newer models take their tools inside an item, in a namespace `functions` without a description, which the backend
 * requires and the model does not read. Other namespaces count.
 */
const toolLines = (tool: Json): readonly string[] =>
  isJsonObject(tool) &&
  tool['type'] === 'namespace' &&
  tool['name'] === 'functions' &&
  tool['description'] === ''
    ? listOf(tool['tools']).map(toolLine)
    : [toolLine(tool)];

const toolLine = (tool: Json): string =>
  isJsonObject(tool) && tool['type'] === 'function'
    ? `tool ${canonical([tool['name'] ?? null, tool['description'] ?? null, tool['parameters'] ?? null])}`
    : JSON.stringify(tool);

/** JSON with sorted members. */
const canonical = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member ?? null)}`).join(',')}}`;
};

const askedLines = (ask: Ask): readonly string[] => [
  ...(ask.instructions === undefined ? [] : [messageLine('"developer"', ask.instructions)]),
  messageLine('"user"', promptOf(ask)),
  ...(ask.tools ?? []).map((tool) => toolLine({ type: 'function', ...tool })),
];

export interface Visible {
  readonly askedBytes: number;
  /** Bytes that the model sees and the client did not send. */
  readonly addedBytes: number;
  /** Requested bytes that never reached the model. */
  readonly lostBytes: number;
}

export const compareVisible = (ask: Ask, body: JsonObject): Visible => {
  const asked = askedLines(ask);
  const seen = linesOf(body);
  return {
    askedBytes: bytesOf(asked),
    addedBytes: bytesOf(without(seen, asked)),
    lostBytes: bytesOf(without(asked, seen)),
  };
};

const bytesOf = (lines: readonly string[]): number => Buffer.byteLength(lines.join(''));

/** Removes one equal line for each. */
const without = (lines: readonly string[], others: readonly string[]): readonly string[] => {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
};
