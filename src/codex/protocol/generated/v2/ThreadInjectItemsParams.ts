// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { JsonValue } from "../serde_json/JsonValue.ts";

export type ThreadInjectItemsParams = { threadId: string,
/**
 * Raw Responses API items to append to the thread's model-visible history.
 */
items: Array<JsonValue>, };
