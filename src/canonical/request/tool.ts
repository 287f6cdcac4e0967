import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import type { HostedCall, ImagePart, Item, Opaque, ToolCall } from './item.ts';

/** What the model may call, or let its backend run. */
export type Tool = FunctionTool | CustomTool | NamespaceTool | HostedTool;

/** A function that the client runs. */
export interface FunctionTool {
  readonly kind: 'function';
  readonly name: string;
  readonly description: string | null;
  /** The JSON schema of the arguments, as the client sent it. Absent parameters are an empty schema. */
  readonly parameters: JsonObject | null;
  readonly strict: boolean | null;
  /** Further fields, as the client sent them: when the tool is loaded, who may call it. */
  readonly more?: JsonObject;
}

/** Absent parameters: a function that takes none. */
export const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** A tool that the client runs, whose input is any text. */
export interface CustomTool {
  readonly kind: 'custom';
  readonly name: string;
  readonly description: string | null;
  /** What the text must look like, as the Responses API says it; null: like anything. */
  readonly format: JsonObject | null;
  /** Further fields, as the client sent them. */
  readonly more?: JsonObject;
}

/** Tools that the client runs, under one name. Nobody between the client and the backend reads what they are. */
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

/** A tool that the backend runs itself: a web search, an image. Nobody between reads how it is set up. */
export interface HostedTool {
  readonly kind: 'hosted';
  readonly raw: RawTool;
  /** The model that is to run it, where its backend leaves that to clients; elsewhere the backend's own does. */
  readonly model?: string;
  /** The part of an image that it may change. */
  readonly mask?: ImagePart;
}

/** A tool as the Responses API writes it. */
export type RawTool = JsonObject & { readonly type: string };

/** How a choice names a tool. */
export type ToolRef = CalledRef | { readonly kind: 'hosted'; readonly raw: RawTool };

/** How a call names it. */
export type CalledRef = Pick<ToolCall, 'name' | 'namespace'> & { readonly kind: ToolCall['tool'] };

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

/** Whether the model must call something. */
export const isForced = (choice: ToolChoice): boolean =>
  choice.mode === 'required' || choice.mode === 'named' || (choice.mode === 'allowed' && choice.required);

/** What is left of a choice when the call has been made that must come. */
export const released = (choice: ToolChoice): ToolChoice => {
  if (choice.mode === 'allowed') return { ...choice, required: false };
  return isForced(choice) ? { mode: 'auto' } : choice;
};

/** The tools that a choice leaves. A choice names hosted tools by their type. */
export const toolsLeft = (tools: readonly Tool[], choice: ToolChoice): readonly Tool[] => {
  if (choice.mode === 'none') return [];
  if (choice.mode !== 'allowed' && choice.mode !== 'named') return tools;
  const allowed = new Set((choice.mode === 'named' ? [choice.tool] : choice.tools).map(refKey));
  return tools.filter((tool) => refsOf(tool).some((ref) => allowed.has(refKey(ref))));
};

/** What a choice may name a tool by: the members of a namespace are named one by one. */
export const refsOf = (tool: Tool): readonly ToolRef[] => {
  if (tool.kind === 'hosted') return [{ kind: 'hosted', raw: tool.raw }];
  if (tool.kind !== 'namespace') return [{ kind: tool.kind, name: tool.name }];
  return tool.members.map(({ tool: kind, name }) => ({ kind, name, namespace: tool.name }));
};

/** The tool that a call is of. */
export const refOfCall = ({ tool: kind, name, namespace }: ToolCall): CalledRef => ({
  kind,
  name,
  ...(namespace === undefined ? {} : { namespace }),
});

/** What a model is told that a tool is called. No name of a function holds a full stop. */
export const titleOf = ({ name, namespace }: Pick<CalledRef, 'name' | 'namespace'>): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

/** The same for two references to one tool. */
export const refKey = (ref: ToolRef): string =>
  ref.kind === 'hosted'
    ? JSON.stringify([ref.kind, ref.raw.type, ref.raw['server_label'] ?? null])
    : JSON.stringify([ref.kind, ref.name, ref.namespace ?? null]);

/** Items by which a hosted tool asks its client to do something, and what tools are called that do so. */
const ASKING: Readonly<Record<string, RegExp>> = {
  computer_call: /^computer/,
  local_shell_call: /^local_shell$/,
  shell_call: /^shell$/,
  apply_patch_call: /^apply_patch$/,
  mcp_approval_request: /^mcp$/,
  tool_search_call: /^tool_search$/,
};

/** Whether an item of this type wants an answer of the client. */
export const isAsking = (type: string): boolean => Object.hasOwn(ASKING, type);

/** Whether it is a hosted tool in name only: the client does what the model wants of it. A shell may have a container of the backend's. */
export const isRunByClient = (tool: Tool): boolean => {
  if (tool.kind !== 'hosted' || tool.raw.type === 'mcp') return false;
  const { type, environment } = tool.raw;
  const place = isJsonObject(environment) ? environment['type'] : null;
  if (typeof place === 'string' && place.startsWith('container')) return false;
  return Object.values(ASKING).some((name) => name.test(type));
};

/** The tools of a request, and those that items of its conversation bring along. */
export const allTools = ({
  tools,
  items,
}: {
  readonly tools: readonly Tool[];
  readonly items: readonly Item[];
}): readonly Tool[] => [
  ...tools,
  ...items.flatMap((item) => (item.kind === 'loaded-tools' ? item.tools : [])),
];

/** Tools that are in no namespace are in this one where a model knows nothing else. */
export const FLAT_NAMESPACE = 'functions';

/** The tools that the client runs, and that the model may call. */
export class CallableTools {
  readonly #known: ReadonlySet<string>;
  readonly #hosted: readonly RawTool[];

  /** Where a call is forced, all of them: whether it is the right one is asked of the whole answer. */
  constructor(tools: readonly Tool[], choice: ToolChoice = { mode: 'auto' }) {
    const callable = isForced(choice) ? tools : toolsLeft(tools, choice);
    this.#known = new Set(callable.flatMap(calledBy).map(refKey));
    this.#hosted = callable.flatMap((tool) => (tool.kind === 'hosted' ? [tool.raw] : []));
  }

  /** What an item of a hosted tool means to the client; `undeclared`: it asks for something that the client never offered. */
  meaningOf({ raw }: HostedCall | Opaque): 'told' | 'asked' | 'undeclared' {
    const asking = isAsking(raw.type) ? ASKING[raw.type] : undefined;
    if (asking === undefined) return 'told';
    const tool = this.#hosted.find(({ type }) => asking.test(type));
    if (tool === undefined) return 'undeclared';
    // A search among tools may run on either side.
    const isSearch = raw.type === 'tool_search_call';
    return isSearch && (raw['execution'] ?? tool['execution']) !== 'client' ? 'told' : 'asked';
  }

  /** The call as the client knows it; null: it has no such tool. codex puts tools of some models into a namespace of its own. */
  known(call: ToolCall): ToolCall | null {
    const { namespace } = call;
    if (namespace !== undefined && this.#known.has(refKey(refOfCall(call)))) return call;
    // A tool of the same name in another namespace is another tool.
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
