import type { Conversations } from '../../src/codex/relay/server/conversations.ts';

/** Without a file: the id is derived from the key. */
export const conversations: Conversations = { idOf: (key) => `id-of-${key}`, close: async () => {} };
