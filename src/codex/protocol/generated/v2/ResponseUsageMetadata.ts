// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { JsonValue } from "../serde_json/JsonValue.ts";

/**
 * Usage metadata reported for one upstream response.
 */
export type ResponseUsageMetadata = { amount: string | null, metadata: JsonValue | null, };
