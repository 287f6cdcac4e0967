// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { LocalShellExecAction } from "./LocalShellExecAction.ts";

export type LocalShellAction = { "type": "exec" } & LocalShellExecAction;
