// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { ThreadBackgroundTerminal } from "./ThreadBackgroundTerminal.ts";

export type ThreadBackgroundTerminalsListResponse = { data: Array<ThreadBackgroundTerminal>,
/**
 * Opaque cursor to pass to the next call to continue after the last item.
 * If None, there are no more items to return.
 */
nextCursor: string | null, };
