import type { Part } from '../../canonical/request/item.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { jsonObject } from '../../apis/bounds.ts';

/** The field of a content part that ends a cached prompt prefix, in both APIs. */
const FIELD = 'prompt_cache_breakpoint';

export const breakpointField = { [FIELD]: jsonObject.nullish() } as const;

export const readBreakpoint = (parsed: {
  readonly [FIELD]?: JsonObject | null | undefined;
}): { cacheBreakpoint?: JsonObject } => (parsed[FIELD] ? { cacheBreakpoint: parsed[FIELD] } : {});

/** The field of a part that has a breakpoint. */
export const breakpointOf = (part: Part): JsonObject =>
  'cacheBreakpoint' in part && part.cacheBreakpoint !== undefined ? { [FIELD]: part.cacheBreakpoint } : {};

/** Removes breakpoints from an assistant's message, which backends do not accept, and adds them to `unread`. */
export const withoutBreakpoints = (parts: readonly Part[], at: string, unread: string[]): readonly Part[] =>
  parts.map((part, index) => {
    if (!('cacheBreakpoint' in part)) return part;
    unread.push(`${at}[${index}].${FIELD}`);
    const { cacheBreakpoint: _, ...rest } = part;
    return rest;
  });
