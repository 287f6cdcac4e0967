import { z } from 'zod';

import type { Item, LoadedTools, ToolOutput } from '../../../canonical/request/item.ts';
import { allTools, refsOf, type Tool, type ToolChoice } from '../../../canonical/request/tool.ts';
import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import { idText, MAX_TOOLS } from '../../../apis/bounds.ts';
import { schemaBudget } from '../../../apis/schema-problem.ts';
import { parseBody, readTagged } from '../../../apis/validation.ts';
import { present, type JsonObject } from '../../../kit/json/json.ts';
import type { ToolChange } from './messages.ts';
import type { Thread } from './thread.ts';
import { backendName, type ClientNames } from '../tool-names.ts';
import { nameOfTool, readInlineTool, renamedOf, type ReadMessagesTools } from './tools.ts';

interface Conversation {
  readonly items: readonly Item[];
  /** The location of each item in the body. */
  readonly places: readonly string[];
}

/** A conversation with its late tools in place. */
export interface WithLateTools extends Conversation {
  /** Tools that the model can call at the end of the conversation. */
  readonly callable: readonly Tool[];
  /** The names of tools that were withdrawn, although the model still sees them. */
  readonly removed: readonly string[];
  readonly clientNames: ClientNames;
}

interface LateToolsContext {
  readonly read: ReadMessagesTools;
  /** The thread that the conversation continues; null: none. */
  readonly before: Thread | null;
  readonly ignored: string[];
}

const referenceSchema = z.object({ tool_name: idText });
const namedSchema = z.object({ name: idText });
const changeSchema = z.object({ tool: z.unknown() });

/**
 * Declares deferred tools where the conversation first refers to them, so that everything in front of that place stays as
 * it was. A removed tool stays declared, and the tool choice excludes it.
 */
export const placeLateTools = (
  { items, places }: Conversation,
  changes: readonly ToolChange[],
  { read, before, ignored }: LateToolsContext,
): WithLateTools => {
  const late = new LateTools(read, before);
  const loaded = new Map<number, LoadedAt[]>();
  const named = new Map<number, string[]>();
  let outputsEnd = -1;
  for (const change of changes) {
    const tool = late.change(change, ignored);
    if (change.kind === 'tool_reference') {
      addTo(named, change.index - 1, referred(change.block, change.at));
    }
    if (tool === null) continue;
    // All outputs of an answer stay together.
    if (change.index > outputsEnd) outputsEnd = afterOutputs(items, change.index);
    addLoaded(loaded, outputsEnd, { tool, at: change.at });
  }
  const { callable, removed, clientNames } = late;
  if (loaded.size === 0 && named.size === 0) return { items, places, callable, removed, clientNames };
  const result: { items: Item[]; places: string[] } = { items: [], places: [] };
  for (let index = 0; index <= items.length; index += 1) {
    for (const { tools, place } of loaded.get(index) ?? []) {
      result.items.push(loadedTools(tools));
      result.places.push(place);
    }
    const item = items[index];
    if (item === undefined) continue;
    const names = named.get(index);
    result.items.push(names === undefined || item.kind !== 'tool-output' ? item : withNames(item, names));
    result.places.push(places[index] ?? 'messages');
  }
  return { ...result, callable, removed, clientNames };
};

const addTo = (lists: Map<number, string[]>, key: number, value: string): void => {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
};

/** The tools that one message loads. */
interface LoadedAt {
  readonly tools: Tool[];
  readonly place: string;
}

/** An item has the tools of one message: those of a later message must not change it. */
const addLoaded = (
  loaded: Map<number, LoadedAt[]>,
  index: number,
  { tool, at }: { readonly tool: Tool; readonly at: string },
): void => {
  const place = at.slice(0, at.indexOf(']') + 1);
  const here = loaded.get(index) ?? [];
  const last = here.at(-1);
  if (last?.place === place) last.tools.push(tool);
  else here.push({ tools: [tool], place });
  loaded.set(index, here);
};

/** Follows which tools the model can call. */
class LateTools {
  /** Tools that can be referred to, by name. */
  readonly #known: Map<string, Tool>;
  readonly #declared: Map<string, Tool>;
  readonly #removed: Set<string>;
  readonly #budget = schemaBudget();
  readonly clientNames: Map<string, string>;

  constructor({ tools, deferred, clientNames }: ReadMessagesTools, before: LateToolsContext['before']) {
    const declared = before === null ? tools : allTools({ tools, items: before.items });
    this.#declared = new Map(declared.map((tool) => [nameOfTool(tool), tool]));
    this.#known = new Map([...deferred, ...this.#declared]);
    this.#removed = new Set(before?.removed);
    this.clientNames = new Map([...(before?.clientNames ?? []), ...clientNames]);
  }

  get callable(): readonly Tool[] {
    return [...this.#declared].flatMap(([name, tool]) => (this.#removed.has(name) ? [] : [tool]));
  }

  get removed(): readonly string[] {
    return [...this.#removed];
  }

  /** The tool that has to be declared at this place; null: none. */
  change({ kind, block, at }: ToolChange, ignored: string[]): Tool | null {
    const name = kind === 'tool_reference' ? referred(block, at) : this.#changed(block, at, ignored);
    const tool = this.#known.get(name);
    // Clients keep references to tools that are gone since, such as those of a server that is not connected.
    if (tool === undefined) {
      ignored.push(at);
      return null;
    }
    if (kind === 'tool_removal') {
      if (this.#declared.has(name)) this.#removed.add(name);
      return null;
    }
    this.#removed.delete(name);
    if (this.#declared.has(name)) return null;
    this.#declared.set(name, tool);
    return tool;
  }

  /** The name of the tool of an addition or a removal. An addition may define it. */
  #changed(block: JsonObject, at: string, ignored: string[]): string {
    const place = `${at}.tool`;
    const { tool } = parseBody(changeSchema, block, at);
    const isAddition = block['type'] === 'tool_addition';
    const types = isAddition
      ? (['tool_reference', 'tool_definition'] as const)
      : (['tool_reference'] as const);
    const { tag, object } = readTagged(tool, 'type', types, place);
    if (tag === 'tool_reference') return backendName(parseBody(namedSchema, object, place).name);
    const definitionAt = `${place}.definition`;
    const budget = this.#budget;
    const defined = readInlineTool(object['definition'], definitionAt, { ignored, budget });
    const name = nameOfTool(defined.tool);
    if (this.#known.has(name)) return name;
    if (this.#known.size >= MAX_TOOLS) throw tooMany(definitionAt);
    this.#known.set(name, defined.tool);
    for (const [own, client] of renamedOf(defined)) this.clientNames.set(own, client);
    return name;
  }
}

const tooMany = (param: string): GatewayError =>
  gatewayError('invalid_value', {
    param,
    message: `${param}: too many tools. Expected at most ${MAX_TOOLS} in 'tools' and all messages.`,
  });

const referred = (block: JsonObject, at: string): string =>
  backendName(parseBody(referenceSchema, block, at).tool_name);

const afterOutputs = (items: readonly Item[], index: number): number => {
  let at = index;
  while (items[at]?.kind === 'tool-output') at += 1;
  return at;
};

/** An output of nothing but references says in words what the search has found. */
const withNames = (item: ToolOutput, names: readonly string[]): ToolOutput =>
  item.output === '' ? { ...item, output: `Loaded tools: ${names.join(', ')}` } : item;

const loadedTools = (tools: readonly Tool[]): LoadedTools => ({
  kind: 'loaded-tools',
  raw: { type: 'additional_tools', role: 'developer', tools: tools.map(rawTool) },
  tools,
  isOurs: true,
});

/** The form of the Responses API. */
const rawTool = (tool: Tool): JsonObject => {
  if (tool.kind !== 'function') return 'raw' in tool ? tool.raw : {};
  const { name, description, parameters, strict } = tool;
  return { type: 'function', ...present({ name, description, parameters, strict }) };
};

/** The choice among the tools that were not removed. */
export const limitedChoice = (choice: ToolChoice, { callable, removed }: WithLateTools): ToolChoice => {
  if (removed.length === 0 || (choice.mode !== 'auto' && choice.mode !== 'required')) return choice;
  if (callable.length === 0) return { mode: 'none' };
  return { mode: 'allowed', required: choice.mode === 'required', tools: callable.flatMap(refsOf) };
};
