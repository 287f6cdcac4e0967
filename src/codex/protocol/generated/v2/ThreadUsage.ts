// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ThreadUsageBreakdownGroup } from "./ThreadUsageBreakdownGroup.ts";

export type ThreadUsage = { threadId: string, estimatedUsageCreditsMicros: bigint, estimatedUsageUsdMicros: bigint | null,
/**
 * Native dollar usage, independent of credit estimates. None means unknown, not zero.
 */
nativeUsageUsdMicros?: bigint | null, groups: Array<ThreadUsageBreakdownGroup>, };
