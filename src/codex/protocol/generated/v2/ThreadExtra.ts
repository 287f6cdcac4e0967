// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

/**
 * Extra app-server data for a thread.
 */
export type ThreadExtra = Record<string, never>;
