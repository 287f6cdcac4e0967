import { isJsonObject, type JsonObject } from '../kit/json.ts';
import type { HostedCall, Opaque, ToolCall } from './item.ts';

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
}

/** A tool that the client runs, whose input is any text. */
export interface CustomTool {
  readonly kind: 'custom';
  readonly name: string;
  readonly description: string | null;
  /** What the text must look like, as the Responses API says it; null: like anything. */
  readonly format: JsonObject | null;
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
}

/** A tool as the Responses API writes it. */
export type RawTool = JsonObject & { readonly type: string };

/** How a choice names a tool. */
export type ToolRef =
  | { readonly kind: ToolCall['tool']; readonly name: string; readonly namespace?: string }
  | { readonly kind: 'hosted'; readonly raw: RawTool };

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

/** The same choice for a model that need not call any more. */
export const unforced = (choice: ToolChoice): ToolChoice => {
  if (choice.mode === 'allowed') return { ...choice, required: false };
  return choice.mode === 'none' ? choice : { mode: 'auto' };
};

/** The tools that a choice leaves. A choice names hosted tools by their type. */
export const toolsLeft = (tools: readonly Tool[], choice: ToolChoice): readonly Tool[] => {
  if (choice.mode === 'none') return [];
  if (choice.mode !== 'allowed') return tools;
  const allowed = new Set(choice.tools.map(refKey));
  return tools.filter((tool) => refsOf(tool).some((ref) => allowed.has(refKey(ref))));
};

/** What a choice may name a tool by: the members of a namespace are named one by one. */
export const refsOf = (tool: Tool): readonly ToolRef[] => {
  if (tool.kind === 'hosted') return [{ kind: 'hosted', raw: tool.raw }];
  if (tool.kind !== 'namespace') return [{ kind: tool.kind, name: tool.name }];
  return tool.members.map(({ tool: kind, name }) => ({ kind, name, namespace: tool.name }));
};

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

/** The tools that the client runs, and that the model may call. */
export class CallableTools {
  readonly #known: ReadonlySet<string>;
  readonly #hosted: readonly string[];

  constructor(tools: readonly Tool[]) {
    this.#known = new Set(tools.flatMap(refsOf).map(refKey));
    this.#hosted = [...new Set(tools.flatMap((tool) => (tool.kind === 'hosted' ? [tool.raw.type] : [])))];
  }

  /** What an item of a hosted tool means to the client; `undeclared`: it asks for something that the client never offered. */
  meaningOf({ raw: { type } }: HostedCall | Opaque): 'told' | 'asked' | 'undeclared' {
    const asking = isAsking(type) ? ASKING[type] : undefined;
    if (asking === undefined) return 'told';
    return this.#hosted.some((name) => asking.test(name)) ? 'asked' : 'undeclared';
  }

  /** The call as the client knows it; null: it has no such tool. codex puts tools of some models into a namespace of its own. */
  known(call: ToolCall): ToolCall | null {
    const { tool: kind, name, namespace } = call;
    if (namespace !== undefined && this.#known.has(refKey({ kind, name, namespace }))) return call;
    const { namespace: _, ...flat } = call;
    return this.has(name, kind) ? flat : null;
  }

  has(name: string, kind: ToolCall['tool'] = 'function'): boolean {
    return this.#known.has(refKey({ kind, name }));
  }
}
