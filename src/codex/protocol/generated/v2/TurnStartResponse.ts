// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { Turn } from "./Turn.ts";

export type TurnStartResponse = { turn: Turn, };
