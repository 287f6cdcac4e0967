// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { DynamicToolFunctionSpec } from "./DynamicToolFunctionSpec.ts";

export type DynamicToolNamespaceTool = { "type": "function" } & DynamicToolFunctionSpec;
