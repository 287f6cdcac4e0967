// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { NetworkPolicyRuleAction } from "./NetworkPolicyRuleAction.ts";

export type NetworkPolicyAmendment = { host: string, action: NetworkPolicyRuleAction, };
