import { gatewayError } from '../canonical/failure.ts';
import {
  refKey,
  refsOf,
  type CustomTool,
  type FunctionTool,
  type NamespaceMember,
  type RawTool,
  type Tool,
  type ToolChoice,
  type ToolRef,
} from '../canonical/tool.ts';
import { isJsonObject, type Json } from '../kit/json.ts';
import { idText } from './bounds.ts';
import { schemaBudget, schemaProblem } from './schema-problem.ts';
import { parseBody } from './validation.ts';
import { quoted } from '../kit/quote.ts';

/** A function as both APIs describe it, whatever they wrap it in. */
export interface FunctionBody {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: FunctionTool['parameters'] | undefined;
  readonly strict?: boolean | null | undefined;
}

export const toFunctionTool = (given: FunctionBody): FunctionTool => ({
  kind: 'function',
  name: given.name,
  description: given.description ?? null,
  parameters: given.parameters ?? null,
  strict: given.strict ?? null,
});

/** A custom tool, the format in the words of the Responses API. */
export interface CustomBody {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly format?: CustomTool['format'] | undefined;
}

/** How an API writes the tools that the client runs. All others are written alike, and go on as they are. */
export interface ToolReaders {
  readonly function: (value: unknown, at: string) => FunctionBody;
  readonly custom: (value: unknown, at: string) => CustomBody;
}

/** The tools of a request. Which of them its backend has is not known here. */
export const readToolList = (given: readonly unknown[], readers: ToolReaders): readonly Tool[] =>
  given.map((value, index) => {
    const at = `tools[${index}]`;
    const type = parseBody(idText, isJsonObject(value) ? value['type'] : undefined, `${at}.type`);
    if (type === 'function') return toFunctionTool(readers.function(value, at));
    if (type === 'custom') {
      const { name, description = null, format = null } = readers.custom(value, at);
      return { kind: 'custom', name, description, format };
    }
    const raw: RawTool = { ...(value as RawTool), type };
    if (type !== 'namespace') return { kind: 'hosted', raw };
    return {
      kind: 'namespace',
      name: parseBody(idText, raw['name'], `${at}.name`),
      raw,
      members: membersOf(raw['tools']),
    };
  });

const membersOf = (tools: Json | undefined): readonly NamespaceMember[] =>
  (Array.isArray(tools) ? (tools as readonly Json[]) : [])
    .filter(isJsonObject)
    .flatMap(({ type, name }) =>
      (type === 'function' || type === 'custom') && typeof name === 'string' ? [{ tool: type, name }] : [],
    );

/**
 * What is wrong with tools whatever their backend: a name that comes twice, and a schema that is none.
 * `placeOf` says where in the body a tool is described.
 */
export const checkTools = (tools: readonly Tool[], placeOf: (tool: Tool, index: number) => string): void => {
  const seen = new Set<string>();
  const budget = schemaBudget();
  for (const [index, tool] of tools.entries()) {
    if (tool.kind === 'hosted') continue;
    const { name } = tool;
    if (seen.has(name)) {
      const param = `${placeOf(tool, index)}.name`;
      throw gatewayError('invalid_value', {
        param,
        message: `Invalid '${param}': duplicate tool name '${quoted(name)}'.`,
      });
    }
    seen.add(name);
    const wrong =
      tool.kind === 'function' && tool.parameters !== null ? schemaProblem(tool.parameters, budget) : null;
    if (wrong === null) continue;
    throw gatewayError('invalid_value', {
      param: `${placeOf(tool, index)}.parameters`,
      code: 'invalid_function_parameters',
      message: `Invalid schema for function '${quoted(name)}': ${wrong}`,
    });
  }
};

/** The choices that are a word; null for a choice that is not. */
export const readChoiceWord = (given: unknown, tools: readonly Tool[]): ToolChoice | null => {
  if (given === undefined || given === null || given === 'auto') return { mode: 'auto' };
  if (given === 'none') return { mode: 'none' };
  if (given !== 'required') return null;
  if (tools.length === 0) {
    throw gatewayError('invalid_value', {
      param: 'tool_choice',
      message: "Tool choice 'required' must be specified with 'tools' parameter.",
    });
  }
  return { mode: 'required' };
};

export const TOOL_CHOICES = ['none', 'auto', 'required', 'function', 'custom', 'allowed_tools'] as const;

/** The names of `allowed_tools`: as many as there are tools, so they are not looked for one by one. */
export const checkDeclared = (
  refs: readonly ToolRef[],
  tools: readonly Tool[],
  paramOf: (index: number) => string,
  place: 'tools' | 'functions' = 'tools',
): void => {
  const declared = new Set(tools.flatMap(refsOf).map(refKey));
  const index = refs.findIndex((ref) => !declared.has(refKey(ref)));
  const ref = refs[index];
  if (ref === undefined) return;
  throw gatewayError('invalid_value', {
    param: paramOf(index),
    message: `Tool choice '${quoted(ref.kind === 'hosted' ? ref.raw.type : ref.name)}' not found in '${place}' parameter.`,
  });
};
