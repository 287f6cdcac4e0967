// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { MemoryCitationEntry } from "./MemoryCitationEntry.ts";

export type MemoryCitation = { entries: Array<MemoryCitationEntry>, threadIds: Array<string>, };
