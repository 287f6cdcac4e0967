// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { Turn } from "./Turn.ts";

export type ReviewStartResponse = { turn: Turn,
/**
 * The thread id supplied to `review/start`.
 */
reviewThreadId: string, };
