// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { Account } from "./Account.ts";
import type { WorkspaceRouting } from "./WorkspaceRouting.ts";

export type GetAccountResponse = { account: Account | null,
/**
 * ChatGPT user ID belonging to this account response, when available.
 */
userId: string | null, requiresOpenaiAuth: boolean, workspaceRouting: WorkspaceRouting | null, };
