import type { CacheIds } from '../../src/codex/relay/request/affinity.ts';

/** Derives the id from the key. */
export const cacheIds: CacheIds = { idOf: async (key) => `id-of-${key}` };
