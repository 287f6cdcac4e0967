// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { NetworkApprovalProtocol } from "./NetworkApprovalProtocol.ts";

export type NetworkApprovalContext = { host: string, protocol: NetworkApprovalProtocol, };
