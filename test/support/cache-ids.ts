import type { ConversationIds } from '../../src/codex/relay/request/affinity.ts';

/** Derives the id from the key. */
export const cacheIds: ConversationIds = { idOf: async (key) => `id-of-${key}` };
