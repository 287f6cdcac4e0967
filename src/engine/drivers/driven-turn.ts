import type { Path } from '../../canonical/request/path.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { ThreadSignal } from '../../codex/app-server.ts';
import type { SourceOptions, TurnSource } from '../../codex/sources/source.ts';
import type { UpstreamEvent } from '../../codex/sources/upstream-event.ts';
import type { McpTurn } from '../mcp/mcp-turn.ts';

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
