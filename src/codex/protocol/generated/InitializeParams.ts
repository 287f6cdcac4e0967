// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ClientInfo } from "./ClientInfo.ts";
import type { InitializeCapabilities } from "./InitializeCapabilities.ts";

export type InitializeParams = { clientInfo: ClientInfo, capabilities: InitializeCapabilities | null, };
