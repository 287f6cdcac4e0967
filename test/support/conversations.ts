import type { Conversations } from '../../src/codex/relay/server/conversations.ts';

/** Without a file: the id of a conversation says which one it is. */
export const conversations: Conversations = { idOf: (key) => `id-of-${key}`, close: async () => {} };
