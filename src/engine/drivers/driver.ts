import type { Turn, TurnContext } from '../../canonical/context/turn-context.ts';
import type { History } from '../../codex/translate/fit-history.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import type { Lease } from '../../codex/worker/supervisor.ts';
import type { AppServer } from '../../codex/app-server.ts';
import type { TurnAttempt } from '../attempt/turn-attempt.ts';
import type { ApprovedResults } from '../mcp/mcp-turn.ts';
import type { Draft } from '../plan/draft-turn.ts';

/** How turns reach the backend. Chosen once, where the backend is composed. */
export interface TurnDriver {
  readonly carries: DriverTraits;
  /** The request of a turn by one strategy. `history`: its conversation, with restored reasoning. */
  draft(turn: Turn, strategy: RequestStrategy, history?: History): Draft;
  attempt(lease: Lease, params: AttemptParams): TurnAttempt;
  /** Prepares a new worker before it serves turns. Takes a moment at most, and never rejects. */
  warm(appServer: AppServer): Promise<void>;
  /** Replaces what was prepared too long ago. Called now and then. */
  refresh(): void;
  /** Facts about the driver for captures. */
  describe(turn: Turn): { readonly hasRelay: boolean; readonly refuses: readonly string[] };
}

/** What requests of a driver can carry. Strategies and steps choose by it. */
export interface DriverTraits {
  /** Instructions in their own field. */
  readonly instructionsField: boolean;
  /** Custom tools, as such. */
  readonly customTools: boolean;
  /** Either request format of a ChatGPT login, whatever the app-server writes. */
  readonly bothFormats: boolean;
  /** Images by URL. */
  readonly imageUrls: boolean;
  /** The item that requests a compaction. */
  readonly compactionTrigger: boolean;
}

export interface AttemptParams {
  readonly draft: Draft;
  readonly context: TurnContext;
  readonly signal: AbortSignal;
  /** Whether there is another attempt; called when the worker has died. */
  readonly mayRetry: () => boolean;
  /** The results of approved calls, from this attempt or an earlier one. */
  readonly approved: ApprovedResults;
}
