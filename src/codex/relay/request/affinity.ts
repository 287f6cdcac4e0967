import { createHash } from 'node:crypto';

import type { Turn } from '../../../canonical/context/turn-context.ts';
import type { Conversations } from '../server/conversations.ts';
import { isRealUuidV7 } from './uuid-v7.ts';

/** The prompt cache key of a conversation. Every request is a new thread, whose id would mean a cold cache. */
export interface AffinityKey {
  /** For the body. */
  readonly cacheKey: string;
  /** For the session headers: always in codex's format, whatever the client sent. */
  readonly session: string;
}

export interface AffinityOptions {
  readonly conversations: Conversations;
  /** `uuid`: the backend of a ChatGPT login may replace any other key by a cold one. */
  readonly cacheKeys: 'any' | 'uuid';
}

export const affinityKey = (
  { request, context }: Turn,
  { conversations, cacheKeys }: AffinityOptions,
  nowMs: number,
): AffinityKey => {
  const own = request.cache.key;
  if (own !== null && isRealUuidV7(own, nowMs)) return { cacheKey: own, session: own };
  const session = conversations.idOf(context.conversation);
  if (own === null || cacheKeys === 'uuid') return { cacheKey: session, session };
  return { cacheKey: own.length <= MAX_KEY ? own : hashOf(own), session };
};

/** Maximum length that backends accept. */
const MAX_KEY = 64;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
