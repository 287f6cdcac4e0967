// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { PatchChangeKind } from "./PatchChangeKind.ts";

export type FileUpdateChange = { path: string, kind: PatchChangeKind, diff: string, };
