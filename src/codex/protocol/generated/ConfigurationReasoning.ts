// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ReasoningEffort } from "./ReasoningEffort.ts";

/**
 * Reasoning settings interpreted by the backend for the routed model.
 */
export type ConfigurationReasoning = { effort: ReasoningEffort, };
