// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ResponseItem } from "../ResponseItem.ts";

export type RawResponseItemCompletedNotification = { threadId: string, turnId: string, item: ResponseItem, };
