import { itemFacts } from '../../../canonical/request/item-facts.ts';
import type { Item, Produced } from '../../../canonical/request/item.ts';
import { mapRefs, type Tool } from '../../../canonical/request/tool.ts';
import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { History } from '../../../codex/translate/fit-history.ts';

/** The app-server silently drops functions with these names, because it has tools of its own with them. */
const DROPPED: ReadonlySet<string> = new Set(['exec_command', 'shell_command']);

/**
 * Whether the app-server would drop a function with this name. All words in its binary were tried: there are
 * no others.
 */
export const isReservedToolName = (name: string): boolean =>
  DROPPED.has(name) || name === 'mcp' || name.startsWith('mcp__');

/** What any backend takes. */
const MAX_NAME = 64;

/** The names that a request has at the app-server, and the way back. */
export interface SafeNames {
  renamed(request: TurnRequest): TurnRequest;
  /** The conversation of that request, which may have restored items. */
  renamedHistory(history: History): History;
  /** The events of that request for the caller, with the caller's names. */
  shown(events: AsyncIterable<TurnEvent>): AsyncIterable<TurnEvent>;
}

const SAME: SafeNames = {
  renamed: (request) => request,
  renamedHistory: (history) => history,
  shown: (events) => events,
};

/**
 * Renames tools of the client whose names the app-server reserves for itself, in declarations, choices and history.
 * Answers have the client's names again.
 */
export const safeNames = (request: TurnRequest): SafeNames => {
  const { safe, own } = namesOf(request);
  if (safe.size === 0) return SAME;
  const toSafe = (name: string): string => safe.get(name) ?? name;
  const toOwn = (name: string): string => own.get(name) ?? name;
  return {
    renamed: (one) => renamed(one, toSafe),
    renamedHistory: ({ items, places }) => ({
      items: items.map((item) => renamedItem(item, toSafe)),
      places,
    }),
    shown: (events) => withNames(events, toOwn),
  };
};

async function* withNames(
  events: AsyncIterable<TurnEvent>,
  name: (name: string) => string,
): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    yield event.type === 'item-started' || event.type === 'item-ended'
      ? { ...event, item: renamedItem(event.item, name) }
      : event;
  }
}

/** A unique replacement for each reserved name (`safe`), and the way back (`own`). Depends on the request only. */
const namesOf = (request: TurnRequest): Record<'safe' | 'own', ReadonlyMap<string, string>> => {
  const { tools, items } = request;
  const called = itemFacts(items).hasCall ? items.flatMap(nameOfItem) : [];
  const all = new Set([...tools.flatMap(nameOfTool), ...called]);
  const safe = new Map<string, string>();
  const own = new Map<string, string>();
  // Shared by all names, so that each number is tried once.
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
  toolChoice: mapRefs(request.toolChoice, (ref) =>
    ref.kind === 'hosted' || ref.namespace !== undefined ? ref : { ...ref, name: safe(ref.name) },
  ),
  items: request.items.map((item) => renamedItem(item, safe)),
});

const renamedItem = <I extends Item | Produced>(item: I, name: (name: string) => string): I =>
  item.kind === 'tool-call' && item.namespace === undefined ? { ...item, name: name(item.name) } : item;
