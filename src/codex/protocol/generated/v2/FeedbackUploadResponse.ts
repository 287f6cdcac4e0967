// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type FeedbackUploadResponse = { threadId: string,
/**
 * Whitespace-normalized SHA-256 of the session base instructions, matching the
 * uploaded `prompt_hash` tag. Does not include later developer messages.
 * Null when the reported rollout has no prompt metadata.
 */
promptHash: string | null, };
