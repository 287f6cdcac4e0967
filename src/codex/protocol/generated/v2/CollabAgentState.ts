// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { CollabAgentStatus } from "./CollabAgentStatus.ts";

export type CollabAgentState = { status: CollabAgentStatus, message: string | null, };
