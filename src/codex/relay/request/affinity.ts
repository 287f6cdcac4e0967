import { createHash } from 'node:crypto';

import type { Turn } from '../../../canonical/context/turn-context.ts';
import type { Conversations } from '../server/conversations.ts';
import { isRealUuidV7 } from './uuid-v7.ts';

/**
 * The key under which a conversation's prompt is cached. Every request is a fresh thread, whose own
 * id would be a cold cache: so the key is that of the conversation.
 */
export interface AffinityKey {
  /** For the body. */
  readonly cacheKey: string;
  /** For the session headers: always of the form that codex uses, whatever the client wrote. */
  readonly session: string;
}

export interface AffinityOptions {
  readonly conversations: Conversations;
  /** `uuid`: the backend of a ChatGPT login may put a cold key in the place of any other. */
  readonly cacheKeys: 'any' | 'uuid';
}

export const affinityKey = (
  { request, context }: Turn,
  { conversations, cacheKeys }: AffinityOptions,
): AffinityKey => {
  const own = request.cache.key;
  if (own !== null && isRealUuidV7(own, Date.now())) return { cacheKey: own, session: own };
  const session = conversations.idOf(context.conversation);
  if (own === null || cacheKeys === 'uuid') return { cacheKey: session, session };
  return { cacheKey: own.length <= MAX_KEY ? own : hashOf(own), session };
};

/** What backends take at the most. */
const MAX_KEY = 64;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
