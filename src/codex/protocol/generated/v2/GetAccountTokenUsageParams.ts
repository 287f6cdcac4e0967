// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type GetAccountTokenUsageParams = {
/**
 * When present, read estimated usage for this thread instead of account-wide token activity.
 */
threadId?: string | null, };
