// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { CapabilityRootLocation } from "./CapabilityRootLocation.ts";

/**
 * A user-selected root that can expose one or more runtime capabilities.
 */
export type SelectedCapabilityRoot = {
/**
 * Stable identifier supplied by the capability selection platform.
 */
id: string,
/**
 * Where the selected root can be resolved.
 */
location: CapabilityRootLocation, };
