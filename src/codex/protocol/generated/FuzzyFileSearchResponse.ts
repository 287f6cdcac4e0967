// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { FuzzyFileSearchResult } from "./FuzzyFileSearchResult.ts";

export type FuzzyFileSearchResponse = { files: Array<FuzzyFileSearchResult>, };
