// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { LegacyAppPathString } from "../LegacyAppPathString.ts";

export type ThreadBackgroundTerminal = { itemId: string, processId: string, command: string, cwd: LegacyAppPathString, osPid: number | null, cpuPercent: number | null, rssKb: bigint | null, };
