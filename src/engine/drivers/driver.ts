import type { Turn, TurnContext } from '../../canonical/context/turn-context.ts';
import type { History } from '../../codex/translate/fit-history.ts';
import type { RequestStrategy } from '../../codex/translate/request-strategy.ts';
import type { WorkerLease } from '../../codex/worker/supervisor.ts';
import type { AppServer, ThreadSignal } from '../../codex/app-server.ts';
import type { ThreadSettings } from '../../codex/translate/thread-start.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { SourceOptions, TurnSource, UpstreamEvent } from '../../codex/sources/source.ts';
import type { TurnAttempt, AttemptParts } from '../attempt/turn-attempt.ts';
import type { ApprovedResults, McpTurn } from '../mcp/mcp-turn.ts';
import type { BackendRules, Draft } from '../plan/draft-turn.ts';

/** What every driver needs. */
export interface DriverDeps extends AttemptParts, BackendRules {
  readonly settings: ThreadSettings;
}

/** One turn on one worker, as its driver runs it. */
export interface DrivenTurn {
  /** Starts it and returns its id. Signals may be received earlier. Must be ended even if this rejects. */
  start(mcp: McpTurn | null, receive: (signal: TurnSignal) => void): Promise<string>;
  /** What turns the received signals into events. */
  sourceOf(options: SourceOptions): TurnSource;
  /** Signals are read from now on. */
  begin(): void;
  /** The source has read a signal. */
  heard(source: TurnSource): void;
  /** What reached the backend; null: what was planned. */
  readonly report: TurnReport | null;
  /** Ends it upstream, once. Resolves when the worker has nothing to do with it any more; never rejects. */
  end(how: TurnEnd): Promise<void>;
}

export type TurnSignal =
  | ThreadSignal
  | UpstreamEvent
  /** A model request was sent, or the backend sent something. */
  | { readonly kind: 'activity'; readonly of: 'sent' | 'heard' };

export interface TurnReport {
  /** Requested settings that did not reach the backend. */
  readonly ignored: readonly Path[];
  /** Whether the backend received the output limit. */
  readonly limitsOutput: boolean;
  /** For the client: the backend's request id and rate limits. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface TurnEnd {
  /** The model has finished, and the client has nothing to answer. */
  readonly isComplete: boolean;
  /** As the backend reported it; null: not reported. */
  readonly usage: Usage | null;
}

/** How turns reach the backend. Chosen once, where the backend is composed. */
export interface TurnDriver {
  readonly carries: DriverTraits;
  /** The request of a turn by one strategy. `history`: its conversation, with restored reasoning. */
  draft(turn: Turn, strategy: RequestStrategy, history?: History): Draft;
  attempt(lease: WorkerLease, params: AttemptParams): TurnAttempt;
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
