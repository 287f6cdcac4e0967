import type { Item, Produced } from '../../canonical/request/item.ts';
import { mapRefs, type Tool } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { isReservedToolName } from '../../codex/capabilities/tool-names.ts';
import { changeEvents } from '../steps/change-events.ts';
import type { Step } from '../steps/step.ts';

/** What any backend takes. */
const MAX_NAME = 64;

/**
 * Renames tools of the client whose names the app-server reserves for itself, in declarations, choices and history.
 * Answers have the client's names again.
 */
export const safeNames: Step<{ readonly hasRelay: boolean }> = {
  name: 'safe-names',
  why: 'Without the relay the app-server reads the tools of the client, and rejects names that it reserves. Innermost: everything else knows tools by the names of the client.',
  wrap: (next, { hasRelay }) =>
    hasRelay
      ? next
      : (request, context) => {
          const { safe, own } = namesOf(request);
          if (safe.size === 0) return next(request, context);
          const renaming = renamed(request, (name) => safe.get(name) ?? name);
          const event = (one: TurnEvent): TurnEvent =>
            one.type === 'item-started' || one.type === 'item-ended'
              ? { ...one, item: renamedItem(one.item, (name) => own.get(name) ?? name) }
              : one;
          return changeEvents(next(renaming, context), () => ({ event }));
        },
};

/** A unique replacement for each reserved name (`safe`), and the way back (`own`). Depends on the request only. */
const namesOf = (request: TurnRequest): Record<'safe' | 'own', ReadonlyMap<string, string>> => {
  const all = new Set([...request.tools.flatMap(nameOfTool), ...request.items.flatMap(nameOfItem)]);
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
