import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import type { AppServer } from '../../codex/app-server.ts';
import { toReviewStart, toTurnStart } from '../../codex/translate/turn-start.ts';

export interface StartedTurn {
  readonly turnId: string;
  /** By which it is interrupted. */
  readonly running: { readonly threadId: string; readonly turnId: string };
}

/** A review runs a turn inside its own, and only that one can be interrupted; without an id, whatever runs is. */
const WHATEVER_RUNS = '';

/** Starts the turn of a thread that knows the conversation. */
export const startTurn = async (
  appServer: AppServer,
  request: TurnRequest,
  threadId: string,
): Promise<StartedTurn> => {
  if (request.isReview === true) {
    const { turn } = await appServer.request('review/start', toReviewStart(request, threadId));
    return { turnId: turn.id, running: { threadId, turnId: WHATEVER_RUNS } };
  }
  const { turn } = await appServer.request('turn/start', toTurnStart(request, threadId));
  return { turnId: turn.id, running: { threadId, turnId: turn.id } };
};
