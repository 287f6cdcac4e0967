// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { DynamicToolCallOutputContentItem } from "./DynamicToolCallOutputContentItem.ts";

export type DynamicToolCallResponse = { contentItems: Array<DynamicToolCallOutputContentItem>, success: boolean, };
