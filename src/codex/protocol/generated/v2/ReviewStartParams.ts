// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ReviewDelivery } from "./ReviewDelivery.ts";
import type { ReviewTarget } from "./ReviewTarget.ts";

export type ReviewStartParams = { threadId: string, target: ReviewTarget,
/**
 * Reviews run inline on the supplied thread. Omit this field or pass `inline`.
 * To review on a separate thread, start a thread first and use its id.
 */
delivery?: ReviewDelivery | null, };
