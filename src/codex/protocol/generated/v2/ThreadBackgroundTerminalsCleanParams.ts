// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type ThreadBackgroundTerminalsCleanParams = { threadId: string, };
