// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { McpServerStatus } from "./McpServerStatus.ts";

export type ListMcpServerStatusResponse = { data: Array<McpServerStatus>,
/**
 * Opaque cursor to pass to the next call to continue after the last item.
 * If None, there are no more items to return.
 */
nextCursor: string | null, };
