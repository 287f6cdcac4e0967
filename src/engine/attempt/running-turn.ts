import type { AppServer } from '../../codex/app-server.ts';
import type { ParamsOf } from '../../codex/protocol/methods.ts';

/** The ids for interrupting a turn. */
export interface RunningTurn {
  readonly threadId: string;
  readonly turnId: string;
}

/** A review runs an inner turn, and only that one can be interrupted; an empty id means any turn. */
const ANY_TURN = '';

export interface StartedTurn {
  /** Names the turn in notifications. */
  readonly turnId: string;
  readonly running: RunningTurn;
}

/** Starts the turn of a thread that has the conversation. */
export const startTurn = async (
  appServer: AppServer,
  params: ParamsOf<'turn/start'>,
): Promise<StartedTurn> => {
  const { turn } = await appServer.request('turn/start', params);
  return { turnId: turn.id, running: { threadId: params.threadId, turnId: turn.id } };
};

export const startReview = async (
  appServer: AppServer,
  params: ParamsOf<'review/start'>,
): Promise<StartedTurn> => {
  const { turn } = await appServer.request('review/start', params);
  return { turnId: turn.id, running: { threadId: params.threadId, turnId: ANY_TURN } };
};

/**
 * Interrupts a running turn and closes its thread: a turn that waits for a tool call would keep its thread. Does not
 * wait for the answer to the interrupt, which may never come.
 */
export const closeTurn = async (
  appServer: AppServer,
  running: RunningTurn | null,
  threadId: string | null,
): Promise<void> => {
  if (running !== null) void appServer.request('turn/interrupt', running).catch(() => {});
  if (threadId !== null) await appServer.request('thread/unsubscribe', { threadId }).catch(() => {});
};
