// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AccountTokenUsageDailyBucket } from "./AccountTokenUsageDailyBucket.ts";
import type { AccountTokenUsageSummary } from "./AccountTokenUsageSummary.ts";
import type { ThreadUsage } from "./ThreadUsage.ts";

export type GetAccountTokenUsageResponse = { summary: AccountTokenUsageSummary, dailyUsageBuckets: Array<AccountTokenUsageDailyBucket> | null,
/**
 * Estimated usage when a thread was requested and its billing route is available.
 */
threadUsage?: ThreadUsage | null, };
