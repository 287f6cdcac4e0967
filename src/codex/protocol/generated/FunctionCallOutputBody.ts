// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { FunctionCallOutputContentItem } from "./FunctionCallOutputContentItem.ts";

export type FunctionCallOutputBody = string | Array<FunctionCallOutputContentItem>;
