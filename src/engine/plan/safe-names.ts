import type { Item, Produced } from '../../canonical/request/item.ts';
import type { Tool, ToolChoice, ToolRef } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isReservedToolName } from '../../codex/capabilities/tool-names.ts';
import type { Emulation } from '../steps/emulate.ts';

/** What any backend takes. */
const MAX_NAME = 64;

/**
 * For the way without a relay, where the app-server is told of the client's tools: names that it keeps for
 * itself go under others, in declarations, choices and history, and come back as the client's own.
 */
export const safeNames: Emulation = {
  request(request) {
    const { safe } = namesOf(request);
    return safe.size === 0 ? request : renamed(request, (name) => safe.get(name) ?? name);
  },
  events(events, { request }) {
    const { own } = namesOf(request);
    return own.size === 0 ? events : ownNames(events, (name) => own.get(name) ?? name);
  },
};

interface Names {
  readonly safe: ReadonlyMap<string, string>;
  readonly own: ReadonlyMap<string, string>;
}

/** Each taken name has one of its own that nobody else has in this request; the same in every request like it. */
const namesOf = (request: TurnRequest): Names => {
  const all = new Set([...request.tools.flatMap(nameOfTool), ...request.items.flatMap(nameOfItem)]);
  const safe = new Map<string, string>();
  const own = new Map<string, string>();
  // It counts for all names together: however many get in each other's way, each way is tried once.
  let nth = 1;
  for (const name of all) {
    if (!isReservedToolName(name)) continue;
    const other = (): string => `tool${nth === 1 ? '' : nth}_${name}`.slice(0, MAX_NAME);
    while (all.has(other()) || own.has(other())) nth += 1;
    safe.set(name, other());
    own.set(other(), name);
  }
  return { safe, own };
};

const nameOfTool = (tool: Tool): readonly string[] =>
  tool.kind === 'function' || tool.kind === 'custom' ? [tool.name] : [];

const nameOfItem = (item: Item): readonly string[] =>
  item.kind === 'tool-call' && item.namespace === undefined ? [item.name] : [];

const renamed = (request: TurnRequest, safe: (name: string) => string): TurnRequest => ({
  ...request,
  tools: request.tools.map((tool) =>
    tool.kind === 'function' || tool.kind === 'custom' ? { ...tool, name: safe(tool.name) } : tool,
  ),
  toolChoice: renamedChoice(request.toolChoice, safe),
  items: request.items.map((item) => renamedItem(item, safe)),
});

const renamedItem = <I extends Item | Produced>(item: I, name: (name: string) => string): I =>
  item.kind === 'tool-call' && item.namespace === undefined ? { ...item, name: name(item.name) } : item;

const renamedChoice = (choice: ToolChoice, safe: (name: string) => string): ToolChoice => {
  const renamedRef = (ref: ToolRef): ToolRef =>
    ref.kind === 'hosted' || ref.namespace !== undefined ? ref : { ...ref, name: safe(ref.name) };
  if (choice.mode === 'named') return { ...choice, tool: renamedRef(choice.tool) };
  return choice.mode === 'allowed' ? { ...choice, tools: choice.tools.map(renamedRef) } : choice;
};

async function* ownNames(
  events: AsyncIterable<TurnEvent>,
  own: (name: string) => string,
): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    const hasItem = event.type === 'item-started' || event.type === 'item-ended';
    yield hasItem ? { ...event, item: renamedItem(event.item, own) } : event;
  }
}
