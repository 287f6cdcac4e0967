// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { LegacyAppPathString } from "../LegacyAppPathString.ts";
import type { FileSystemSpecialPath } from "./FileSystemSpecialPath.ts";

export type FileSystemPath = { "type": "path", path: LegacyAppPathString, } | { "type": "glob_pattern", pattern: string, } | { "type": "special", value: FileSystemSpecialPath, };
