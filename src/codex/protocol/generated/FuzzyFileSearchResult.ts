// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { FuzzyFileSearchMatchType } from "./FuzzyFileSearchMatchType.ts";

/**
 * Superset of [`codex_file_search::FileMatch`]
 */
export type FuzzyFileSearchResult = { root: string, path: string, match_type: FuzzyFileSearchMatchType, file_name: string, score: number, indices: Array<number> | null, };
