import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Item } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { Tool } from '../../canonical/request/tool.ts';
import { placeOf, type History } from './fit-history.ts';

/** Moves tools that items declare into the tool list, for backends that do not understand such items. */
export const mergeLoadedTools = (
  { items, tools }: { readonly items: readonly Item[]; readonly tools: readonly Tool[] },
  isMergedIntoTools: (item: Extract<Item, { kind: 'loaded-tools' }>) => boolean,
): { readonly items: readonly Item[]; readonly tools: readonly Tool[] } => {
  if (!itemFacts(items).hasLoadedTools) return { items, tools };
  const lifted = items.filter((item) => item.kind === 'loaded-tools').filter(isMergedIntoTools);
  if (lifted.length === 0) return { items, tools };
  const gone = new Set<Item>(lifted.filter(({ raw }) => raw.type === 'additional_tools'));
  return {
    // The results of a search stay readable.
    items: items.filter((item) => !gone.has(item)),
    tools: [...tools, ...lifted.flatMap((item) => item.tools)],
  };
};

/** Removes the namespaces from calls, for a backend that refuses them. */
export const withoutNamespaces = (
  history: History,
): { readonly items: readonly Item[]; readonly ignored: readonly Path[] } => {
  const { items } = history;
  if (!itemFacts(items).hasNamespace) return { items, ignored: [] };
  return {
    items: items.map((item) => {
      if (!hasNamespace(item)) return item;
      const { namespace: _, ...flat } = item as Extract<Item, { kind: 'tool-call' }>;
      return flat;
    }),
    ignored: items.flatMap((item, index): readonly Path[] =>
      hasNamespace(item) ? [{ callNamespace: placeOf(history, index) ?? index }] : [],
    ),
  };
};

const hasNamespace = (item: Item): boolean => item.kind === 'tool-call' && item.namespace !== undefined;
