// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AdditionalContextKind } from "./AdditionalContextKind.ts";

export type AdditionalContextEntry = { value: string, kind: AdditionalContextKind,
/**
 * Optional name for untrusted context, used to label its tool output.
 */
name?: string | null, };
