// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { TurnError } from "./TurnError.ts";

export type ErrorNotification = { error: TurnError, willRetry: boolean, threadId: string, turnId: string, };
