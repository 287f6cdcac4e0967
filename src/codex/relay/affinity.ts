import { createHash } from 'node:crypto';

import type { TurnRequest } from '../../canonical/turn-request.ts';

/**
 * The key under which a conversation's prompt is cached. Every request is a fresh thread, whose own
 * id would be a cold cache: so the key comes from what stays the same from turn to turn.
 */
export interface AffinityKey {
  /** For the body: the client's own key, if it has one. */
  readonly cacheKey: string;
  /** For the session headers: always of the form that codex uses. */
  readonly session: string;
}

export const affinityKey = (request: TurnRequest): AffinityKey => {
  const own = request.wire.find((param) => param.field === 'prompt_cache_key')?.value;
  const { caller, session } = request.affinity;
  const key = typeof own === 'string' ? own : null;
  const source = key ?? session ?? beginningOf(request);
  const uuid = uuidOf(JSON.stringify([caller, source]));
  return { cacheKey: key ?? uuid, session: uuid };
};

/** What no later turn of a conversation changes. */
const beginningOf = (request: TurnRequest): unknown => [
  request.model,
  request.instructions,
  request.tools,
  request.items.find((item) => item.kind === 'message' && item.role === 'user') ?? null,
];

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
