import { createHash, randomUUID } from 'node:crypto';

import type { Turn } from '../../../canonical/context/turn-context.ts';

/** The backend's ids of conversations: UUIDs of version 7, which all turns of a conversation share. */
export interface ConversationIds {
  /** `conversation` is that of a `TurnContext`. Never rejects, and waits for a moment at most. */
  idOf(conversation: string): Promise<string>;
}

export interface AffinityOptions {
  readonly cacheIds: ConversationIds;
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

/** A UUID that starts with its creation time, as codex and its backend use them. */
export const uuidV7 = (nowMs: number): string => {
  const time = nowMs.toString(16).padStart(12, '0');
  // Node caches random bytes for these, so they cost no system call.
  const random = randomUUID();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(15)}`;
};

export const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** UUIDs of version 7 did not exist before. */
const EARLIEST_MS = Date.UTC(2020, 0);
/** Clocks differ. */
const AHEAD_MS = 24 * 60 * 60 * 1000;

/** Whether a text is a genuine UUIDv7 with a plausible time. */
export const isRealUuidV7 = (text: string, nowMs: number): boolean => {
  if (!UUID_V7.test(text)) return false;
  const madeAt = Number.parseInt(text.slice(0, 8) + text.slice(9, 13), 16);
  return madeAt >= EARLIEST_MS && madeAt <= nowMs + AHEAD_MS;
};
