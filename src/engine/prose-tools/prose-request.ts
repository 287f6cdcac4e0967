import {
  choiceInstruction,
  allTools,
  isForced,
  NO_PARAMETERS,
  titleOf,
  toolsLeft,
  type Tool,
  type ToolChoice,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
} from '../../canonical/request/tool.ts';
import type { Item, Message, ToolCall, Part, ToolOutput, CallContent } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { TurnCaller } from '../../canonical/context/turn-context.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isJsonObject, objectsIn, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { yieldToLoop, runSliced } from '../../kit/async/event-loop.ts';
import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import { ONE_INPUT } from '../plan/custom-as-functions.ts';
import { writeCall, type WrittenCall } from './written-call.ts';

/** Explains tool parameters to a model. The implementation runs in a thread, because a client's schema may take long. */
export interface ToolGuide {
  /** One result for each schema, which is JSON text; null where it took too long. Never rejects. */
  guide(schemas: readonly string[], caller: string): Promise<readonly (Guidance | null)[]>;
}

export interface Guidance {
  /** A line for each parameter. */
  readonly parameters: readonly string[];
  /** Arguments that match the schema, as JSON text; null: not found. */
  readonly example: string | null;
}

/** A client tool as described to the model in prose: always as a function. */
interface ProseTool extends ToolHeading {
  /** The name by which the model calls it. */
  readonly title: string;
  readonly kind: ToolCall['tool'];
  readonly parameters: JsonObject;
  readonly isStrict: boolean;
}

interface ToolHeading {
  readonly name: string;
  readonly namespace?: string;
  readonly description: string | null;
}

/** Whether the client runs the tool. Other tools stay declared. */
const isProse = (tool: Tool): tool is FunctionTool | CustomTool | NamespaceTool =>
  tool.kind === 'function' || tool.kind === 'custom' || tool.kind === 'namespace';

/** The tools to describe. Other limits of the tool choice are a sentence in the instructions. */
export const proseTools = (tools: readonly Tool[], choice: ToolChoice): readonly ProseTool[] =>
  (choice.mode === 'allowed' ? toolsLeft(tools, choice) : tools)
    .filter(isProse)
    .flatMap((tool): readonly ProseTool[] => {
      if (tool.kind === 'namespace') return membersOf(tool);
      const named = { name: tool.name, description: tool.description };
      if (tool.kind === 'custom') return [customOf(named, tool.format)];
      return [functionOf(named, tool.parameters, tool.strict === true)];
    });

const functionOf = (named: ToolHeading, parameters: JsonObject | null, isStrict: boolean): ProseTool => ({
  title: titleOf(named),
  kind: 'function',
  ...named,
  parameters: parameters ?? NO_PARAMETERS,
  isStrict,
});

/** The description includes the format of the input. */
const customOf = (named: ToolHeading, format: JsonObject | null): ProseTool => {
  const grammar =
    format === null || format['type'] === 'text' ? null : `The input must match: ${JSON.stringify(format)}`;
  const description = [named.description, grammar].filter((text) => text !== null).join('\n');
  return {
    ...functionOf({ ...named, description: description === '' ? null : description }, ONE_INPUT, false),
    kind: 'custom',
  };
};

const membersOf = ({ name: namespace, raw }: NamespaceTool): readonly ProseTool[] =>
  objectsIn(raw, 'tools').flatMap((member) => {
    const { type, name, parameters, format, strict } = member;
    if (typeof name !== 'string') return [];
    const description = typeof member['description'] === 'string' ? member['description'] : null;
    const named = { name, namespace, description };
    if (type === 'custom') return [customOf(named, isJsonObject(format) ? format : null)];
    if (type !== 'function') return [];
    return [functionOf(named, isJsonObject(parameters) ? parameters : null, strict === true)];
  });

/** Maps what a model wrote to a call of a client tool; null: there is no such tool. */
export const callsOf = (tools: readonly ProseTool[]): ((written: WrittenCall) => CallContent | null) => {
  const byTitle = new Map(tools.map((tool) => [tool.title, tool]));
  return ({ name: title, input }) => {
    const tool = byTitle.get(title);
    if (tool === undefined) return null;
    const { kind, name, namespace } = tool;
    return {
      tool: kind,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      input: kind === 'custom' ? customInput(input) : input,
    };
  };
};

/** The call as a model would have written it. */
const writtenOf = (call: ToolCall): WrittenCall => ({
  name: titleOf(call),
  input: call.tool === 'custom' ? JSON.stringify({ input: call.input }) : call.input,
});

/** If the arguments do not match the schema, the whole text is the input. */
const customInput = (written: string): string => {
  const input = parseJsonObject(written)?.['input'];
  return typeof input === 'string' ? input : written;
};

/** An item of a history in prose. */
interface ProseItem {
  /** The index of its first source item in the client's history. */
  readonly place: number;
  /** The item itself, or the message that replaces several items, without its parts. */
  readonly head: Item;
  /** The items to write into the message. */
  readonly written: readonly Written[];
}

/** An output has the title of the tool that it is from. */
type Written = Message | ToolCall | (ToolOutput & { readonly title: string | null });

/**
 * Turns calls into assistant messages and outputs into user messages. Adjacent ones share a message, and calls join the
 * assistant text before them, as the model wrote them.
 */
export const proseHistory = (items: readonly Item[]): readonly ProseItem[] => {
  const history: { place: number; head: Item; written: Written[] }[] = [];
  /** By call id; ids may be used again in later rounds. */
  const titles = new Map<string, string>();
  for (const [place, item] of items.entries()) {
    const last = history.at(-1);
    if (item.kind === 'tool-call') {
      titles.set(item.callId, titleOf(item));
      const words = last?.written.length === 0 ? assistantWords(last.head) : null;
      if (words !== null) last?.written.push(words, item);
      else if (last?.written.at(-1)?.kind === 'tool-call') last.written.push(item);
      else history.push({ place, head: messageBy('assistant'), written: [item] });
    } else if (item.kind === 'tool-output') {
      const output = { ...item, title: titleOfOutput(item, titles) };
      if (last?.written.at(-1)?.kind === 'tool-output') last.written.push(output);
      else history.push({ place, head: messageBy('user'), written: [output] });
    } else if (!isOfToolSearch(item)) history.push({ place, head: item, written: [] });
  }
  return history;
};

const titleOfOutput = (
  { callId, name, namespace }: ToolOutput,
  titles: ReadonlyMap<string, string>,
): string | null => {
  if (callId !== null) return titles.get(callId) ?? null;
  return name === undefined ? null : titleOf({ name, ...(namespace === undefined ? {} : { namespace }) });
};

/** Loaded tools are described with all others, so the search for them is dropped. */
const isOfToolSearch = (item: Item): boolean =>
  item.kind === 'loaded-tools' || (item.kind === 'hosted-call' && item.raw.type === 'tool_search_call');

const messageBy = (role: 'assistant' | 'user'): Message => ({ kind: 'message', role, parts: [] });

/** The item, if it is an assistant message of plain text. */
const assistantWords = (item: Item): Message | null =>
  item.kind === 'message' &&
  item.role === 'assistant' &&
  item.parts.every((part) => part.kind === 'text' && (part.annotations ?? []).length === 0)
    ? item
    : null;

/** The history with its texts. */
export const writeHistory = async (
  history: readonly ProseItem[],
  signal: AbortSignal,
): Promise<readonly Item[]> => {
  const all: Item[] = [];
  for (const { head, written } of history) {
    const lists: (readonly Part[])[] = [];
    for (const one of written) {
      await yieldToLoop(signal);
      lists.push(partsOf(one));
    }
    all.push(written.length === 0 || head.kind !== 'message' ? head : { ...head, parts: joined(lists) });
  }
  return all;
};

/** Joins adjacent texts. Each list begins on a new line. */
const joined = (lists: readonly (readonly Part[])[]): readonly Part[] => {
  const parts: Part[] = [];
  let texts: string[] = [];
  const flush = (): void => {
    if (texts.length > 0) parts.push(textOf(texts.join('')));
    texts = [];
  };
  for (const list of lists) {
    const last = texts.at(-1)?.at(-1) ?? ' ';
    if (last.trim() !== '') texts.push('\n');
    for (const part of list) {
      if (part.kind !== 'text') {
        flush();
        parts.push(part);
      } else if (part.text !== '') texts.push(part.text);
    }
  }
  flush();
  return parts;
};

const partsOf = (item: Written): readonly Part[] => {
  if (item.kind === 'message') return item.parts;
  if (item.kind === 'tool-call') return [textOf(writeCall(writtenOf(item)))];
  const name = item.title === null ? '' : ` name="${attribute(item.title)}"`;
  const call = item.callId === null ? '' : ` call_id="${attribute(item.callId)}"`;
  const output = typeof item.output === 'string' ? [textOf(item.output)] : item.output;
  return [textOf(`<tool_result${name}${call}>`), ...output, textOf('</tool_result>')];
};

const textOf = (text: string): Part => ({ kind: 'text', text });

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** How to write a tool call. The wording is the one that models of this protocol know. */
const RULES = `Tool calling instructions:
Only emit tool calls using <tool_call>...</tool_call>.
Format: <tool_call>{"name":"TOOL_NAME","arguments":"{...}"}</tool_call>
Inside <tool_call>...</tool_call>, output ONLY a JSON object with keys "name" and "arguments".
Always emit <tool_call> blocks exactly as shown; the client executes them.
Do NOT call internal tools directly (shell, apply_patch, web_search, view_image); only emit <tool_call>.
Read-only sandbox or approval restrictions do NOT prevent emitting <tool_call> output.
Use EXACT parameter names from the schema; do NOT invent or rename keys.
Do not add any extra characters before or after the JSON (no trailing ">", no code fences).
Use exactly one opening <tool_call> and one closing </tool_call> tag.
Output must be valid JSON. Do not add extra braces or trailing characters.
Do NOT wrap the JSON object in an array (no leading "[" or trailing "]").
Bad: <tool_call>[{"name":"tool","arguments":"{...}"}]</tool_call>
Never repeat the closing tag.
Example (exact): <tool_call>{"name":"webSearch","arguments":"{\\"query\\":\\"example\\",\\"chatHistory\\":[]}"}</tool_call>
The "arguments" field must be a JSON string.
If a tool has no parameters, use arguments "{}".
If no tool is needed, respond with plain text.`;

/** The text before the conversation that replaces the tool declarations. */
export const proseInstructions = async (
  tools: readonly ProseTool[],
  choice: ToolChoice,
  { guide, caller, signal }: { guide: ToolGuide; caller: string; signal: AbortSignal },
): Promise<string> => {
  const schemas: string[] = [];
  for (const { parameters } of tools) {
    schemas.push((await runSliced(writeJsonSteps(parameters), signal)).join(''));
  }
  const guidance = await guide.guide(schemas, caller);
  const conditions = [...choiceLines(choice), ...strictLines(tools)];
  return [
    RULES,
    ...(conditions.length === 0 ? [] : [conditions.join('\n')]),
    ['Available tools (schema):', ...tools.map(({ title }, index) => `- ${title}: ${schemas[index]}`)].join(
      '\n',
    ),
    `Per-tool guidance and examples (schema-conformant):\n${tools
      .map((tool, index) => aboutTool(tool, guidance[index] ?? null))
      .join('\n\n')}`,
  ].join('\n\n');
};

const choiceLines = (choice: ToolChoice): readonly string[] => {
  if (choice.mode === 'none') return ['Tool choice is none: never emit <tool_call>.'];
  if (choice.mode === 'named' && choice.tool.kind !== 'hosted') {
    return [`Tool choice is forced: you MUST call "${titleOf(choice.tool)}".`];
  }
  const isRequired = choice.mode === 'required' || (choice.mode === 'allowed' && choice.required);
  return isRequired ? ['Tool choice is required: you MUST emit at least one <tool_call>.'] : [];
};

const strictLines = (tools: readonly ProseTool[]): readonly string[] => {
  const strict = tools.filter(({ isStrict }) => isStrict).map(({ title }) => title);
  return strict.length === 0
    ? []
    : [`Strict tools: ${strict.join(', ')}. Arguments MUST conform exactly to schema.`];
};

const aboutTool = ({ title, description }: ProseTool, guidance: Guidance | null): string =>
  [
    `Tool: ${title}`,
    ...(description === null || description === '' ? [] : [`Description: ${description}`]),
    ...(guidance === null ? [] : ['Parameters:', ...guidance.parameters]),
    ...(guidance?.example == null
      ? []
      : ['Example tool_call:', writeCall({ name: title, input: guidance.example })]),
  ].join('\n');

export interface ProseOptions {
  readonly guide: ToolGuide;
  /** `developer`: instructions and prompts become one text, in their order. */
  readonly instructionsTarget: 'base' | 'developer';
}

/** A request that describes the client's tools in prose instead of declaring them. */
export class ProseRequest {
  readonly #request: TurnRequest;
  readonly #options: ProseOptions;
  readonly #history: readonly ProseItem[];
  /** The tools that stay declared, each with its index in the client's list. */
  readonly #declared: readonly (readonly [number, Tool])[];
  /** The tools described in prose. */
  readonly tools: readonly ProseTool[];

  constructor(request: TurnRequest, options: ProseOptions) {
    this.#request = request;
    this.#options = options;
    this.#history = proseHistory(request.items);
    const all = allTools(request);
    this.#declared = [...all.entries()].filter(([, tool]) => !isProse(tool));
    this.tools = proseTools(all, request.toolChoice);
  }

  /** Whether it equals the request of the client. */
  get isTheSame(): boolean {
    return this.tools.length === 0 && this.#history.every(({ written }) => written.length === 0);
  }

  /** The request without its texts: enough for a plan. */
  outline(): TurnRequest {
    const heads = this.#history.map(({ head }) => head);
    return this.#around(heads, '');
  }

  /** Throws the signal's reason once it is aborted. */
  async write(caller: TurnCaller, signal: AbortSignal): Promise<TurnRequest> {
    const items = await writeHistory(this.#history, signal);
    if (this.tools.length === 0) return this.#around(items, '');
    const by = { guide: this.#options.guide, caller: caller.keyId, signal };
    return this.#around(items, await proseInstructions(this.tools, this.#request.toolChoice, by));
  }

  #around(items: readonly Item[], text: string): TurnRequest {
    const request = this.#request;
    const tools = this.#declared.map(([, tool]) => tool);
    const toolChoice = choiceAmong(tools, request.toolChoice);
    return {
      ...request,
      // As part of one text, the instructions follow the tools.
      instructions: this.#joinsInstructions ? null : request.instructions,
      items: [...this.#front(text), ...items, ...this.#reminder(toolChoice)],
      tools,
      toolChoice,
      parallelToolCalls: null,
    };
  }

  get #joinsInstructions(): boolean {
    return this.#options.instructionsTarget === 'developer' && this.tools.length > 0;
  }

  #front(text: string): readonly Message[] {
    if (this.tools.length === 0) return [];
    const { instructions } = this.#request;
    const texts = this.#joinsInstructions && instructions !== null ? [text, instructions] : [text];
    return texts.map(developerMessage);
  }

  /** Repeats a choice that the model ignored. The engine repeats a choice of declared tools. */
  #reminder(left: ToolChoice): readonly Message[] {
    const { insists, toolChoice } = this.#request;
    return insists === true && !isForced(left) ? [developerMessage(choiceInstruction(toolChoice))] : [];
  }

  /** The part of the client's request that a part of this request comes from; null: it has no source. */
  ownPath(path: Path): Path | null {
    if (typeof path === 'string' || 'include' in path) return path;
    if ('tool' in path) {
      const [tool = Infinity] = this.#declared[path.tool] ?? [];
      // Other tools come from an item.
      return tool < this.#request.tools.length ? { tool } : null;
    }
    if (!('item' in path) && !('imageDetail' in path)) return null;
    const index = 'item' in path ? path.item : path.imageDetail.item;
    const source = this.#history[index - this.#front('').length];
    if (source === undefined) return null;
    const { place: item, written } = source;
    // The parts of a rewritten message are not those of the client.
    return 'item' in path || written.length > 0 ? { item } : { imageDetail: { ...path.imageDetail, item } };
  }
}

const developerMessage = (text: string): Message => ({
  kind: 'message',
  role: 'developer',
  parts: [{ kind: 'text', text }],
});

/** The part of a choice that is about declared tools. The rest is described in prose. */
const choiceAmong = (tools: readonly Tool[], choice: ToolChoice): ToolChoice => {
  if (tools.length === 0 || choice.mode === 'auto') return { mode: 'auto' };
  if (choice.mode === 'named') return choice.tool.kind === 'hosted' ? choice : { mode: 'none' };
  if (choice.mode !== 'allowed') return isForced(choice) ? { mode: 'auto' } : choice;
  const hosted = choice.tools.filter(({ kind }) => kind === 'hosted');
  if (hosted.length === 0) return { mode: 'none' };
  // A tool described in prose may be called instead.
  const required = choice.required && hosted.length === choice.tools.length;
  return { ...choice, required, tools: hosted };
};
