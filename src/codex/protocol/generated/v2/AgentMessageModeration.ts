// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AgentMessageDisplay } from "./AgentMessageDisplay.ts";

export type AgentMessageModeration = { moderated: boolean, display: AgentMessageDisplay | null, };
