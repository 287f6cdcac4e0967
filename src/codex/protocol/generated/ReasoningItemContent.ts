// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

export type ReasoningItemContent = { "type": "reasoning_text", text: string, } | { "type": "text", text: string, };
