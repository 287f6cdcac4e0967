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
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isJsonObject, listIn, type Json, type JsonObject } from '../../kit/json/json.ts';
import { InputOfArguments } from './input-of-arguments.ts';

/** Whether a request has custom tools, or calls of them. */
export const hasCustomTools = (request: Pick<TurnRequest, 'tools' | 'items'>): boolean =>
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
  request: Pick<TurnRequest, 'tools' | 'items'>,
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
