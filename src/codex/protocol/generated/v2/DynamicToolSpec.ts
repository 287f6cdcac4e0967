// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { DynamicToolFunctionSpec } from "./DynamicToolFunctionSpec.ts";
import type { DynamicToolNamespaceSpec } from "./DynamicToolNamespaceSpec.ts";

export type DynamicToolSpec = { "type": "function" } & DynamicToolFunctionSpec | { "type": "namespace" } & DynamicToolNamespaceSpec;
