// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { FileSystemAccessMode } from "./FileSystemAccessMode.ts";
import type { FileSystemPath } from "./FileSystemPath.ts";

export type FileSystemSandboxEntry = { path: FileSystemPath, access: FileSystemAccessMode, };
