import { createHash } from 'node:crypto';

import type { Item } from '../../canonical/item.ts';
import type { TurnRequest } from '../../canonical/turn-request.ts';

/**
 * The key under which a conversation's prompt is cached. Every request is a fresh thread, whose own
 * id would be a cold cache: so the key comes from what stays the same from turn to turn.
 */
export interface AffinityKey {
  /** For the body: the client's own key, if it has one. */
  readonly cacheKey: string;
  /** For the session headers: always of the form that codex uses, whatever the client wrote. */
  readonly session: string;
}

export const affinityKey = (request: TurnRequest): AffinityKey => {
  const own = request.wire.find((param) => param.field === 'prompt_cache_key')?.value;
  const { caller, session } = request.affinity;
  const key = typeof own === 'string' ? own : null;
  // Two clients that use the same name mean two things.
  const named = key ?? session;
  const uuid = uuidOf(JSON.stringify(named === null ? [caller, beginningOf(request)] : [caller, named]));
  return { cacheKey: key ?? uuid, session: uuid };
};

/** What no later turn of a conversation changes: how it began, up to the first thing the user said. */
const beginningOf = (request: TurnRequest): unknown => {
  const first = request.items.findIndex((item) => item.kind === 'message' && item.role === 'user');
  const items = request.items.slice(0, Math.max(0, first) + 1).filter((item) => isPrompt(item));
  return [request.model, request.instructions, request.tools, items.map(withoutId)];
};

const isPrompt = (item: Item): boolean => item.kind === 'message' && item.role !== 'assistant';

/** A client may send an item back under an id that it got in the meantime. */
const withoutId = (item: Item): unknown => {
  const { id: _, ...rest } = item as Item & { readonly id?: string };
  return rest;
};

const uuidOf = (text: string): string => {
  const hex = createHash('sha256').update(text).digest('hex');
  // Version 8: a UUID whose bits are the maker's own.
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `a${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
};
