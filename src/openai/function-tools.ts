import { gatewayError } from '../canonical/failure.ts';
import type { FunctionTool, ToolChoice } from '../canonical/turn-request.ts';
import { isJsonObject } from '../kit/json.ts';
import { missing } from './validation.ts';
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

/** The tools of a request, each read by its API. Only functions are served. */
export const readFunctionTools = (
  given: readonly unknown[],
  read: (value: unknown, at: string) => FunctionBody,
): readonly FunctionTool[] =>
  given.map((value, index) => {
    const at = `tools[${index}]`;
    const type = isJsonObject(value) ? value['type'] : undefined;
    if (type === undefined) throw missing(`${at}.type`);
    if (type !== 'function') {
      throw gatewayError('unsupported_tool', {
        param: `${at}.type`,
        message: `The tool type ${quoted(JSON.stringify(type))} at '${at}' is not supported here. Supported: 'function'.`,
      });
    }
    return toFunctionTool(read(value, at));
  });

/** The choices that are a word; null for a choice that is not. */
export const readChoiceWord = (given: unknown, tools: readonly FunctionTool[]): ToolChoice | null => {
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

export const TOOL_CHOICES = ['none', 'auto', 'required', 'function', 'allowed_tools'] as const;

/** The names of `allowed_tools`: as many as there are tools, so they are not looked for one by one. */
export const checkAllDeclared = (
  names: readonly string[],
  tools: readonly FunctionTool[],
  paramOf: (index: number) => string,
): void => {
  const declared = new Set(tools.map((tool) => tool.name));
  const index = names.findIndex((name) => !declared.has(name));
  const name = names[index];
  if (name !== undefined) checkDeclared(name, tools, paramOf(index));
};

export const checkDeclared = (
  name: string,
  tools: readonly FunctionTool[],
  param: string,
  place: 'tools' | 'functions' = 'tools',
): void => {
  if (tools.some((tool) => tool.name === name)) return;
  throw gatewayError('invalid_value', {
    param,
    message: `Tool choice '${quoted(name)}' not found in '${place}' parameter.`,
  });
};
