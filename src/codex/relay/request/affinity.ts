import { createHash } from 'node:crypto';

import type { Turn } from '../../../canonical/context/turn-context.ts';
import { isRealUuidV7 } from './uuid-v7.ts';

/** The backend's ids of conversations: UUIDs of version 7, which all turns of a conversation share. */
export interface CacheIds {
  /** `conversation` is that of a `TurnContext`. Never rejects, and waits for a moment at most. */
  idOf(conversation: string): Promise<string>;
}

export interface AffinityOptions {
  readonly cacheIds: CacheIds;
  /** `uuid`: the backend of a ChatGPT login may replace any other key by a cold one. */
  readonly cacheKeys: 'any' | 'uuid';
}

/** The prompt cache key of a conversation. Every request is a new thread, whose id would mean a cold cache. */
export interface AffinityKey {
  /** For the body. */
  readonly cacheKey: string;
  /** For the session headers: always in codex's format, whatever the client sent. */
  readonly session: string;
}

/** The backend's id of the turn's conversation: the client's own cache key if it has the right format. */
export const sessionOf = async (
  { request, context }: Turn,
  { cacheIds }: AffinityOptions,
  nowMs: number,
): Promise<string> => {
  const own = request.cache.key;
  return own !== null && isRealUuidV7(own, nowMs) ? own : cacheIds.idOf(context.conversation);
};

export const affinityKey = (
  { request }: Turn,
  session: string,
  cacheKeys: AffinityOptions['cacheKeys'],
): AffinityKey => {
  const own = request.cache.key;
  if (own === null || cacheKeys === 'uuid') return { cacheKey: session, session };
  return { cacheKey: own.length <= MAX_KEY ? own : hashOf(own), session };
};

/** Maximum length that backends accept. */
const MAX_KEY = 64;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
