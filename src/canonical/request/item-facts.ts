import { partsOf, type Item } from './item.ts';
import type { Tool } from './tool.ts';

/** What several places ask about a conversation as a whole. */
interface ItemFacts {
  readonly hasCacheBreakpoint: boolean;
  readonly hasCallFields: boolean;
  readonly hasFile: boolean;
  /** Tools that items of the conversation declare. */
  readonly loadedTools: readonly Tool[];
}

/** Arrays of items are never changed, and a long one is asked about several times: so it is walked once. */
const known = new WeakMap<readonly Item[], ItemFacts>();

export const itemFacts = (items: readonly Item[]): ItemFacts => {
  const facts = known.get(items) ?? read(items);
  known.set(items, facts);
  return facts;
};

const read = (items: readonly Item[]): ItemFacts => {
  let hasCacheBreakpoint = false;
  let hasCallFields = false;
  let hasFile = false;
  const loadedTools: Tool[] = [];
  for (const item of items) {
    hasCallFields ||= 'more' in item;
    if (item.kind === 'loaded-tools') for (const tool of item.tools) loadedTools.push(tool);
    for (const part of partsOf(item).parts) {
      hasCacheBreakpoint ||= 'cacheBreakpoint' in part;
      hasFile ||= part.kind === 'file';
    }
  }
  return { hasCacheBreakpoint, hasCallFields, hasFile, loadedTools };
};
