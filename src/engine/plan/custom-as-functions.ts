import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Item, Produced, ToolCall } from '../../canonical/request/item.ts';
import {
  allTools,
  FLAT_NAMESPACE,
  mapRefs,
  refKey,
  refOfCall,
  type CalledRef,
  type CustomTool,
  type FunctionTool,
  type NamespaceMember,
  type RawTool,
  type Tool,
  type ToolRef,
} from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest, ToolsInUse } from '../../canonical/request/turn-request.ts';
import { isJsonObject, listIn, type Json, type JsonObject } from '../../kit/json/json.ts';

/** The beginning of the arguments, complete and incomplete. */
const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/;
const MAY_BEGIN = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;
const LONGEST_BEGINNING = 200;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Turns the arguments of a function that replaces a custom tool into the tool's input, delta by delta. Arguments are
 * `{"input":"…"}`: the string is decoded as it comes. Others are decoded at their end: an object may have more members,
 * and text that is not such an object is itself the input.
 */
export class InputOfArguments {
  #state: 'before' | 'inside' | 'after' | 'other' = 'before';
  /** The text that was not decoded. */
  #rest = '';
  /** The first half of a surrogate pair. */
  #half = '';
  /** The input so far. */
  text = '';

  take(delta: string): string {
    if (this.#state === 'after') return '';
    this.#rest += delta;
    if (this.#state === 'before') this.#begin();
    return this.#state === 'inside' ? this.#add(this.#decode()) : '';
  }

  /** Ends the arguments; returns the rest of the input. */
  end(): string {
    const rest = this.#state === 'before' || this.#state === 'other' ? inputIn(this.#rest) : this.#rest;
    const left = this.#half + (this.#state === 'after' ? '' : rest);
    this.text += left;
    this.#half = '';
    this.#rest = '';
    this.#state = 'after';
    return left;
  }

  #begin(): void {
    const [beginning] = BEGINNING.exec(this.#rest) ?? [];
    if (beginning !== undefined) {
      this.#state = 'inside';
      this.#rest = this.#rest.slice(beginning.length);
    } else if (this.#rest.length > LONGEST_BEGINNING || !MAY_BEGIN.test(this.#rest)) this.#state = 'other';
  }

  /** Decodes up to the end of the string, or to an incomplete escape. */
  #decode(): string {
    const rest = this.#rest;
    const end = endOfString(rest);
    const isWhole = rest.charCodeAt(end) === QUOTE;
    if (isWhole) this.#state = 'after';
    this.#rest = isWhole ? '' : rest.slice(end);
    return decoded(rest.slice(0, end));
  }

  /** Holds back half a surrogate pair. */
  #add(decoded: string): string {
    const text = this.#half + decoded;
    const isHalf = /[\uD800-\uDBFF]$/.test(text);
    this.#half = isHalf ? text.slice(-1) : '';
    const whole = isHalf ? text.slice(0, -1) : text;
    this.text += whole;
    return whole;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The end of the string, or the beginning of an incomplete escape. */
const endOfString = (text: string): number => {
  let at = 0;
  while (at < text.length) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at;
    const length = char === BACKSLASH ? (text[at + 1] === 'u' ? 6 : 2) : 1;
    if (at + length > text.length) return at;
    at += length;
  }
  return at;
};

/** `JSON.parse` is many times faster, but accepts no invalid escapes. */
const decoded = (text: string): string => {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text.replaceAll(/\\(?:u[^]{4}|[^])/g, unescaped);
  }
};

/** Decodes an escape; an invalid one stays as it is. */
const unescaped = (escape: string): string => {
  const mark = escape[1] ?? '';
  if (mark === 'u') {
    const digits = escape.slice(2);
    return /^[\da-f]{4}$/i.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : escape;
  }
  if (mark === '"' || mark === '\\' || mark === '/') return mark;
  return ESCAPES[mark] ?? escape;
};

const inputIn = (written: string): string => {
  let value: Json;
  try {
    value = JSON.parse(written) as Json;
  } catch {
    return written;
  }
  if (!isJsonObject(value)) return written;
  const { input, ...others } = value;
  if (typeof input === 'string') return input;
  return input === undefined && Object.keys(others).length === 0 ? '' : written;
};

/** Whether a request has custom tools, or calls of them. */
export const hasCustomTools = (request: ToolsInUse): boolean =>
  itemFacts(request.items).hasCustomCall || customRefs(allTools(request)).length > 0;

/** The request for a backend without custom tools: each becomes a function with one text. */
export const withoutCustomTools = (request: TurnRequest): TurnRequest => ({
  ...request,
  tools: request.tools.map(asFunction),
  toolChoice: mapRefs(request.toolChoice, refOfFunction),
  items: request.items.map(itemOfFunctions),
});

/** The events for the caller: calls of those functions become custom calls again. */
export async function* customAgain(
  events: AsyncIterable<TurnEvent>,
  request: ToolsInUse,
): AsyncGenerator<TurnEvent> {
  const custom = new Set(customRefs(allTools(request)).map((ref) => refKey({ ...ref, kind: 'function' })));
  const isCustom = (item: Produced): item is Produced<ToolCall> =>
    item.kind === 'tool-call' && item.tool === 'function' && custom.has(refKey(refOfCall(item)));
  const open = new Map<string, InputOfArguments>();
  for await (const event of events) {
    if (event.type === 'item-started' && isCustom(event.item)) {
      open.set(event.item.id, new InputOfArguments());
      yield { ...event, item: { ...event.item, tool: 'custom' } };
    } else if (event.type === 'item-delta' && event.at === 'input' && open.has(event.itemId)) {
      const delta = open.get(event.itemId)?.take(event.delta) ?? '';
      if (delta !== '') yield { ...event, delta };
    } else if (event.type === 'item-ended' && isCustom(event.item)) {
      const { id } = event.item;
      const input = open.get(id) ?? new InputOfArguments();
      open.delete(id);
      const delta = input.end();
      if (delta !== '') yield { type: 'item-delta', itemId: id, at: 'input', delta };
      yield { ...event, item: { ...event.item, tool: 'custom', input: input.text } };
    } else yield event;
  }
}

const customRefs = (tools: readonly Tool[]): readonly CalledRef[] =>
  tools.flatMap((tool): readonly CalledRef[] => {
    if (tool.kind === 'custom') return [{ kind: 'custom', name: tool.name }];
    if (tool.kind !== 'namespace') return [];
    const { name: namespace, members } = tool;
    return members
      .filter((member) => member.tool === 'custom')
      .flatMap(({ name }): readonly CalledRef[] => [
        { kind: 'custom', name, namespace },
        ...(namespace === FLAT_NAMESPACE ? [{ kind: 'custom', name } as const] : []),
      ]);
  });

const asFunction = (tool: Tool): Tool => {
  if (tool.kind === 'custom') return functionFor(tool);
  if (tool.kind !== 'namespace') return tool;
  const members: readonly NamespaceMember[] = tool.members.map(({ name }) => ({ tool: 'function', name }));
  return { ...tool, members, raw: { ...tool.raw, tools: rawFunctions(tool.raw) } };
};

/** The parameters of a function that replaces a custom tool. */
export const ONE_INPUT: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool.' } },
  required: ['input'],
  additionalProperties: false,
};

const functionFor = ({ name, description, format, more }: CustomTool): FunctionTool => ({
  kind: 'function',
  name,
  description: described(description, format),
  parameters: ONE_INPUT,
  strict: null,
  ...(more === undefined ? {} : { more }),
});

/** The description includes the grammar, which the function cannot enforce. */
const described = (description: Json | undefined, format: Json | undefined): string => {
  const own = typeof description === 'string' && description !== '' ? [description] : [];
  const { syntax, definition } = isJsonObject(format) ? format : {};
  const rule =
    typeof syntax === 'string' && typeof definition === 'string'
      ? `Put the input of this tool into \`input\`, as one text that matches this grammar (${syntax}):\n${definition}`
      : 'Put the input of this tool into `input`, as one text.';
  return [...own, rule].join('\n\n');
};

/** The tools of a namespace or of an item, with custom tools as functions. */
const rawFunctions = (around: JsonObject): readonly Json[] =>
  listIn(around, 'tools').map((tool) => {
    if (!isJsonObject(tool)) return tool;
    if (tool['type'] === 'namespace') return { ...tool, tools: rawFunctions(tool) };
    if (tool['type'] !== 'custom') return tool;
    const { format, ...rest } = tool;
    const description = described(tool['description'], format);
    return { ...rest, type: 'function', description, parameters: ONE_INPUT } satisfies RawTool;
  });

const itemOfFunctions = (item: Item): Item => {
  if (item.kind === 'tool-output') return { ...item, tool: 'function' };
  if (item.kind === 'tool-call' && item.tool === 'custom') {
    return { ...item, tool: 'function', input: JSON.stringify({ input: item.input }) };
  }
  if (item.kind !== 'loaded-tools') return item;
  const raw = { ...item.raw, tools: rawFunctions(item.raw) };
  return { ...item, raw, tools: item.tools.map(asFunction) };
};

const refOfFunction = (ref: ToolRef): ToolRef => (ref.kind === 'custom' ? { ...ref, kind: 'function' } : ref);
