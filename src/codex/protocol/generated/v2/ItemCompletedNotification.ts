// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ThreadItem } from "./ThreadItem.ts";

export type ItemCompletedNotification = { item: ThreadItem, threadId: string, turnId: string,
/**
 * Native content tokens for the completed assistant message, including a sampled footer.
 * Null when unavailable. Completion telemetry is not part of the stored thread item.
 */
contentTokenCount?: number | null,
/**
 * Unix timestamp (in milliseconds) when this item lifecycle completed.
 */
completedAtMs: number, };
