import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { itemFacts } from './item-facts.ts';
import type { HostedCall, ImagePart, Item, Opaque, ToolCall, Produced, CalledName } from './item.ts';

/** A tool of a request. */
export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool;

/** A function, run by the client. */
/** The description of a function and of its arguments. */
export interface FunctionSignature {
  readonly description: string | null;
  /** The JSON schema of the arguments, as sent by the client. */
  readonly parameters: JsonObject | null;
}

export interface FunctionTool extends FunctionSignature {
  readonly kind: 'function';
  readonly name: string;
  readonly strict: boolean | null;
  /** Other fields from the client, such as when to load the tool and who may call it. */
  readonly more?: JsonObject;
}

/** The choice with each tool reference replaced. */
export const mapRefs = (choice: ToolChoice, change: (ref: ToolRef) => ToolRef): ToolChoice => {
  if (choice.mode === 'named') return { ...choice, tool: change(choice.tool) };
  return choice.mode === 'allowed' ? { ...choice, tools: choice.tools.map(change) } : choice;
};

/** The schema for a function without parameters. */
export const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** A tool with free-form text input, run by the client. */
export interface CustomTool {
  readonly kind: 'custom';
  readonly name: string;
  readonly description: string | null;
  /** The input format in Responses API form; null: any text. */
  readonly format: JsonObject | null;
  /** Other fields from the client. */
  readonly more?: JsonObject;
}

/** A group of client tools under one name, passed through unchanged. */
export interface NamespaceTool {
  readonly kind: 'namespace';
  readonly name: string;
  readonly raw: RawTool;
  readonly members: readonly NamespaceMember[];
}

export interface NamespaceMember {
  readonly tool: ToolCall['tool'];
  readonly name: string;
}

/** A tool that the backend runs, such as web search. Its settings are passed through unchanged. */
export interface HostedTool {
  readonly kind: 'hosted';
  readonly raw: RawTool;
  /** The model that runs it, if the backend lets clients choose one. */
  readonly model?: string;
  /** Marks the part of an image that may change. */
  readonly mask?: ImagePart;
}

/** A tool in Responses API form. */
export type RawTool = JsonObject & { readonly type: string };

/** A tool as named by a tool choice. */
export type ToolRef = CalledRef | { readonly kind: 'hosted'; readonly raw: RawTool };

/** A tool as named by a call. */
export interface CalledRef extends CalledName {
  readonly kind: ToolCall['tool'];
}

export type ToolChoice =
  | { readonly mode: 'auto' }
  | { readonly mode: 'none' }
  | { readonly mode: 'required' }
  | { readonly mode: 'named'; readonly tool: ToolRef }
  | {
      readonly mode: 'allowed';
      readonly required: boolean;
      readonly tools: readonly ToolRef[];
    };

/** Whether the model must call a tool. */
export const isForced = (choice: ToolChoice): boolean =>
  choice.mode === 'required' || choice.mode === 'named' || (choice.mode === 'allowed' && choice.required);

/** The choice for requests after the forced call was made. */
export const released = (choice: ToolChoice): ToolChoice => {
  if (choice.mode === 'allowed') return { ...choice, required: false };
  return isForced(choice) ? { mode: 'auto' } : choice;
};

/** The tools that a choice allows. A choice names hosted tools by their type. */
export const toolsLeft = (tools: readonly Tool[], choice: ToolChoice): readonly Tool[] => {
  if (choice.mode === 'none') return [];
  if (choice.mode !== 'allowed' && choice.mode !== 'named') return tools;
  const allowed = new Set((choice.mode === 'named' ? [choice.tool] : choice.tools).map(refKey));
  return tools.filter((tool) => refsOf(tool).some((ref) => allowed.has(refKey(ref))));
};

/** All references to a tool; one for each member of a namespace. */
export const refsOf = (tool: Tool): readonly ToolRef[] => {
  if (tool.kind === 'hosted') return [{ kind: 'hosted', raw: tool.raw }];
  if (tool.kind !== 'namespace') return [{ kind: tool.kind, name: tool.name }];
  return tool.members.map(({ tool: kind, name }) => ({ kind, name, namespace: tool.name }));
};

/** The tool that a call refers to. */
export const refOfCall = ({ tool: kind, name, namespace }: ToolCall): CalledRef => ({
  kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

/** The name of a tool in prompts. The dot is unambiguous, because function names cannot contain one. */
export const titleOf = ({ name, namespace }: CalledName): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

/** A key that is equal for references to the same tool. */
export const refKey = (ref: ToolRef): string =>
  ref.kind === 'hosted'
    ? JSON.stringify([ref.kind, ref.raw.type, ref.raw['server_label'] ?? null])
    : JSON.stringify([ref.kind, ref.name, ref.namespace ?? null]);

/** Item types that the client must act on, and the tool types that produce them. */
const CLIENT_CALLS: Readonly<Record<string, RegExp>> = {
  computer_call: /^computer/,
  local_shell_call: /^local_shell$/,
  shell_call: /^shell$/,
  apply_patch_call: /^apply_patch$/,
  mcp_approval_request: /^mcp$/,
  tool_search_call: /^tool_search$/,
};

/** Whether an item of this type is a call for the client to run. */
export const isClientCall = (type: string): boolean => Object.hasOwn(CLIENT_CALLS, type);

/** Whether the client runs this hosted tool. A shell runs at the backend if it has a container there. */
export const isRunByClient = (tool: Tool): boolean => {
  if (tool.kind !== 'hosted' || tool.raw.type === 'mcp') return false;
  const { type, environment } = tool.raw;
  const place = isJsonObject(environment) ? environment['type'] : null;
  if (typeof place === 'string' && place.startsWith('container')) return false;
  return Object.values(CLIENT_CALLS).some((name) => name.test(type));
};

/** The tools of a request, including those declared by items of its conversation. */
export const allTools = ({
  tools,
  items,
}: {
  readonly tools: readonly Tool[];
  readonly items: readonly Item[];
}): readonly Tool[] => [...tools, ...itemFacts(items).loadedTools];

/** codex puts tools without a namespace into this one for some models. */
export const FLAT_NAMESPACE = 'functions';

/** The client's tools that the model may call. */
export class CallableTools {
  readonly #known: ReadonlySet<string>;
  readonly #hosted: readonly RawTool[];

  /** A forced choice does not restrict the tools: the complete answer is checked later. */
  constructor(tools: readonly Tool[], choice: ToolChoice = { mode: 'auto' }) {
    const callable = isForced(choice) ? tools : toolsLeft(tools, choice);
    this.#known = new Set(callable.flatMap(calledBy).map(refKey));
    this.#hosted = callable.flatMap((tool) => (tool.kind === 'hosted' ? [tool.raw] : []));
  }

  /** Whether a hosted tool's item reports something or is a call for the client to run; `undeclared` if the client did not declare that tool. */
  meaningOf({ raw }: HostedCall | Opaque): 'report' | 'call' | 'undeclared' {
    const asking = isClientCall(raw.type) ? CLIENT_CALLS[raw.type] : undefined;
    if (asking === undefined) return 'report';
    const tool = this.#hosted.find(({ type }) => asking.test(type));
    if (tool === undefined) return 'undeclared';
    // Tool search can run on either side.
    const isSearch = raw.type === 'tool_search_call';
    return isSearch && (raw['execution'] ?? tool['execution']) !== 'client' ? 'report' : 'call';
  }

  /** The call with the namespace that the client declared; null if it declared no such tool. */
  known(call: ToolCall): ToolCall | null {
    const { namespace } = call;
    if (namespace !== undefined && this.#known.has(refKey(refOfCall(call)))) return call;
    // The same name in another namespace is a different tool.
    if (namespace !== undefined && namespace !== FLAT_NAMESPACE) return null;
    const { namespace: _, ...flat } = call;
    return this.has(flat.name, flat.tool) ? flat : null;
  }

  has(name: string, kind: ToolCall['tool'] = 'function', namespace?: string): boolean {
    return this.#known.has(refKey({ kind, name, ...(namespace === undefined ? {} : { namespace }) }));
  }
}

const calledBy = (tool: Tool): readonly ToolRef[] => {
  if (tool.kind !== 'namespace' || tool.name !== FLAT_NAMESPACE) return refsOf(tool);
  return [...refsOf(tool), ...tool.members.map(({ tool: kind, name }) => ({ kind, name }))];
};

/** The tools that satisfy a forced choice; null: any tool. */
const wantedBy = (choice: ToolChoice): readonly ToolRef[] | null => {
  if (choice.mode === 'named') return [choice.tool];
  return choice.mode === 'allowed' ? choice.tools : null;
};

/** Returns a predicate: whether an output item satisfies a forced choice. */
export const meetsChoice = (choice: ToolChoice): ((item: Produced) => boolean) => {
  const wanted = wantedBy(choice);
  const called = new Set(wanted?.map(refKey));
  const hosted = wanted?.flatMap((ref) => (ref.kind === 'hosted' ? [ref.raw] : [])) ?? [];
  return (item) => {
    if (item.kind === 'tool-call') return wanted === null || called.has(refKey(refOfCall(item)));
    const ran = 'raw' in item ? CALLING.exec(item.raw.type)?.[1] : undefined;
    if (!('raw' in item) || ran === undefined) return false;
    const { server_label: label } = item.raw;
    // The calls of `web_search_preview` are named `web_search_call`.
    return (
      wanted === null ||
      hosted.some((tool) => tool.type.startsWith(ran) && (ran !== 'mcp' || tool['server_label'] === label))
    );
  };
};

/** Item types of hosted tool calls, including calls that wait for approval. */
const CALLING = /^(\w+?)_(?:call|approval_request)$/;

/** A forced choice as an instruction, for backends without `tool_choice`. */
export const choiceInstruction = (choice: ToolChoice): string => {
  const wanted = wantedBy(choice)?.map(shown);
  if (wanted === undefined)
    return 'Answer this turn by calling one of your tools. Do not answer in text only.';
  const tools =
    wanted.length === 1 ? `the tool ${wanted.join('')}` : `one of these tools: ${wanted.join(', ')}`;
  return `Answer this turn by calling ${tools}. Call no other tool, and do not answer in text only.`;
};

const shown = (ref: ToolRef): string => JSON.stringify(ref.kind === 'hosted' ? ref.raw.type : titleOf(ref));
