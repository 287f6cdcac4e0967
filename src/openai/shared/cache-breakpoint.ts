import type { Part } from '../../canonical/request/item.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { jsonObject } from './bounds.ts';

/** The field of a content part that ends a cached prefix of the prompt. Both APIs write it alike. */
const FIELD = 'prompt_cache_breakpoint';

export const breakpointField = { [FIELD]: jsonObject.nullish() } as const;

export const readBreakpoint = (given: {
  readonly [FIELD]?: JsonObject | null | undefined;
}): { cacheBreakpoint?: JsonObject } => (given[FIELD] ? { cacheBreakpoint: given[FIELD] } : {});

/** The parts of an assistant's message: a backend has no place for a breakpoint in them, so it is named as unread. */
export const withoutBreakpoints = (parts: readonly Part[], at: string, unread: string[]): readonly Part[] =>
  parts.map((part, index) => {
    if (!('cacheBreakpoint' in part)) return part;
    unread.push(`${at}[${index}].${FIELD}`);
    const { cacheBreakpoint: _, ...rest } = part;
    return rest;
  });
