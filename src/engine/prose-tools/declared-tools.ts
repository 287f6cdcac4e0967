import type { ToolCall } from '../../canonical/request/item.ts';
import {
  NO_PARAMETERS,
  titleOf,
  toolsLeft,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
} from '../../canonical/request/tool.ts';
import { isJsonObject, objectsIn, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { ONE_INPUT } from '../plan/custom-as-functions.ts';
import type { WrittenCall } from './written-call.ts';

/** A client tool as described to the model in prose: always as a function. */
export interface ProseTool {
  /** The name by which the model calls it. */
  readonly title: string;
  readonly kind: ToolCall['tool'];
  readonly name: string;
  readonly namespace?: string;
  readonly description: string | null;
  readonly parameters: JsonObject;
  readonly isStrict: boolean;
}

/** Whether the client runs the tool. Other tools stay declared. */
export const isProse = (tool: Tool): tool is FunctionTool | CustomTool | NamespaceTool =>
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

type Named = Pick<ProseTool, 'name' | 'namespace' | 'description'>;

const functionOf = (named: Named, parameters: JsonObject | null, isStrict: boolean): ProseTool => ({
  title: titleOf(named),
  kind: 'function',
  ...named,
  parameters: parameters ?? NO_PARAMETERS,
  isStrict,
});

/** The description includes the format of the input. */
const customOf = (named: Named, format: JsonObject | null): ProseTool => {
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
export const callsOf = (
  tools: readonly ProseTool[],
): ((written: WrittenCall) => Pick<ToolCall, 'tool' | 'name' | 'namespace' | 'input'> | null) => {
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
export const writtenOf = (call: ToolCall): WrittenCall => ({
  name: titleOf(call),
  input: call.tool === 'custom' ? JSON.stringify({ input: call.input }) : call.input,
});

/** If the arguments do not match the schema, the whole text is the input. */
const customInput = (written: string): string => {
  const input = parseJsonObject(written)?.['input'];
  return typeof input === 'string' ? input : written;
};
