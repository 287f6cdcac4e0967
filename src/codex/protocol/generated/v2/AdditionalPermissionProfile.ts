// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { AdditionalFileSystemPermissions } from "./AdditionalFileSystemPermissions.ts";
import type { AdditionalNetworkPermissions } from "./AdditionalNetworkPermissions.ts";

export type AdditionalPermissionProfile = {
/**
 * Partial overlay used for per-command permission requests.
 */
network: AdditionalNetworkPermissions | null, fileSystem: AdditionalFileSystemPermissions | null, };
