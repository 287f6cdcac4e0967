// Generated from @openai/codex 0.166.0 (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { CyberAccessProgram } from "./CyberAccessProgram.ts";

/**
 * Caller-specific explicit access programs advertised by model discovery.
 */
export type ModelAccessPrograms = {
/**
 * Accepted explicit selections.
 */
cyber: Array<CyberAccessProgram>, };
