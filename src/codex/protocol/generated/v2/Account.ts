// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { PlanType } from "../PlanType.ts";

export type Account = { "type": "apiKey", } | { "type": "chatgpt", email: string | null, planType: PlanType,
/**
 * Display name of the selected ChatGPT workspace, when available.
 */
workspaceName: string | null, } | { "type": "amazonBedrock", usesCodexManagedCredentials: boolean, } | { "type": "gcp", };
