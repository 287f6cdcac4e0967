import type { Item } from '../canonical/request/item.ts';
import { assertNever } from '../kit/assert-never.ts';

/** The id of an input item names its turn and its place there, so it needs no index. */
export const inputItemId = (turnKey: string, index: number, item: Item): string =>
  `${prefixOf(item)}_${turnKey}${index.toString(16).padStart(4, '0')}`;

/** The turn and the place that an id names; null: the id is not one of an input item. */
export const readInputItemId = (id: string): { readonly turnKey: string; readonly index: number } | null => {
  const [, turnKey, index] = /^[a-z]+_([0-9a-f]{32})([0-9a-f]{4,5})$/.exec(id) ?? [];
  return turnKey === undefined || index === undefined ? null : { turnKey, index: Number.parseInt(index, 16) };
};

/** OpenAI's prefixes. */
const prefixOf = (item: Item): string => {
  switch (item.kind) {
    case 'message':
      return 'msg';
    case 'reasoning':
      return 'rs';
    case 'tool-call':
      return item.tool === 'function' ? 'fc' : 'ctc';
    case 'tool-output':
      return item.tool === 'function' ? 'fco' : 'ctco';
    case 'compaction':
      return 'cmp';
    case 'hosted-call':
    case 'loaded-tools':
    case 'opaque':
      return 'item';
    default:
      return assertNever(item);
  }
};
