// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ThreadUnsubscribeStatus } from "./ThreadUnsubscribeStatus.ts";

export type ThreadUnsubscribeResponse = { status: ThreadUnsubscribeStatus, };
