// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type ReasoningItemReasoningSummary = { "type": "summary_text", text: string, };
