import type { ToolCall } from '../../canonical/item.ts';
import {
  toolsLeft,
  type CustomTool,
  type FunctionTool,
  type NamespaceTool,
  type Tool,
  type ToolChoice,
} from '../../canonical/tool.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, parseJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import { ONE_INPUT } from '../custom-as-functions.ts';
import type { WrittenCall } from './written-call.ts';

/** A tool as a model is told of it in prose: a function, whatever it is. */
export interface ProseTool {
  /** By which the model calls it. */
  readonly title: string;
  readonly kind: ToolCall['tool'];
  readonly name: string;
  readonly namespace?: string;
  readonly description: string | null;
  readonly parameters: JsonObject;
  readonly isStrict: boolean;
}

/** An empty schema: a function without parameters. */
const NO_PARAMETERS: JsonObject = { type: 'object', properties: {} };

/** The client's own tools. Others are no calls for a client, and are declared as they are. */
export const isProse = (tool: Tool): tool is FunctionTool | CustomTool | NamespaceTool =>
  tool.kind === 'function' || tool.kind === 'custom' || tool.kind === 'namespace';

/** Those that the model is told of. A choice that rules others out, or all, is a sentence beside them. */
export const proseTools = (tools: readonly Tool[], choice: ToolChoice): readonly ProseTool[] =>
  (choice.mode === 'allowed' ? toolsLeft(tools, choice) : tools)
    .filter(isProse)
    .flatMap((tool): readonly ProseTool[] => {
      switch (tool.kind) {
        case 'function':
          return [functionOf(tool, tool.parameters, tool.strict === true)];
        case 'custom':
          return [customOf(tool, tool.format)];
        case 'namespace':
          return membersOf(tool.name, tool.raw['tools']);
        default:
          return assertNever(tool);
      }
    });

type Named = Pick<ProseTool, 'name' | 'namespace' | 'description'>;

const functionOf = (
  { name, namespace, description }: Named,
  parameters: JsonObject | null,
  isStrict: boolean,
): ProseTool => ({
  title: titleOf(name, namespace),
  kind: 'function',
  name,
  ...(namespace === undefined ? {} : { namespace }),
  description,
  parameters: parameters ?? NO_PARAMETERS,
  isStrict,
});

/** The model is told by words what the text must look like. */
const customOf = (named: Named, format: JsonObject | null): ProseTool => {
  const grammar =
    format === null || format['type'] === 'text' ? null : `The input must match: ${JSON.stringify(format)}`;
  const description = [named.description, grammar].filter((text) => text !== null).join('\n');
  return {
    ...functionOf({ ...named, description: description === '' ? null : description }, ONE_INPUT, false),
    kind: 'custom',
  };
};

const membersOf = (namespace: string, members: Json | undefined): readonly ProseTool[] =>
  (Array.isArray(members) ? (members as readonly Json[]) : []).filter(isJsonObject).flatMap((member) => {
    const { type, name, parameters, format, strict } = member;
    if (typeof name !== 'string') return [];
    const description = typeof member['description'] === 'string' ? member['description'] : null;
    const named = { name, namespace, description };
    if (type === 'custom') return [customOf(named, isJsonObject(format) ? format : null)];
    if (type !== 'function') return [];
    return [functionOf(named, isJsonObject(parameters) ? parameters : null, strict === true)];
  });

/** What a model calls a tool of a namespace by. No name of a function holds a full stop. */
export const titleOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}.${name}`;

/** What a model wrote → the call that the client knows; null: it has no such tool. */
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

/** A call of the client's → how a model would have written it. */
export const writtenOf = ({ tool, name, namespace, input }: ToolCall): WrittenCall => ({
  name: titleOf(name, namespace),
  input: tool === 'custom' ? JSON.stringify({ input }) : input,
});

/** A model that does not keep to the schema means all that it wrote. */
const customInput = (written: string): string => {
  const input = parseJsonObject(written)?.['input'];
  return typeof input === 'string' ? input : written;
};
