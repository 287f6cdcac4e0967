import type { AppServer } from '../../codex/app-server.ts';

/**
 * Ends a turn, if it runs, and closes its thread. A turn that waits for a tool call would keep its thread for
 * ever, so it is interrupted first. Nobody waits for the answer to that: it may never come.
 */
export const closeTurn = async (
  appServer: AppServer,
  running: { readonly threadId: string; readonly turnId: string } | null,
  threadId: string | null,
): Promise<void> => {
  if (running !== null) void appServer.request('turn/interrupt', running).catch(() => {});
  if (threadId !== null) await appServer.request('thread/unsubscribe', { threadId }).catch(() => {});
};
