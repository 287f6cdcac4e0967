// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ResponseItem } from "../ResponseItem.ts";

export type RawResponseItemCompletedNotification = { threadId: string, turnId: string, item: ResponseItem, };
