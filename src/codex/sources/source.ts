import type { Produced } from '../../canonical/request/item.ts';
import type { Outcome, TurnEvent } from '../../canonical/events/turn-event.ts';
import type { CallableTools } from '../../canonical/request/tool.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { FindMcpTool } from './mcp-calls.ts';
import type { Failure } from '../../canonical/failure/failure.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** Produces the events of one turn. Holds the turn's state and does no IO. */
export interface TurnSource {
  /** Whether the turn has ended. */
  readonly ended: boolean;
  /** The visible items of the model's last answer, in starting order. */
  readonly answer: readonly Produced[];
  /** Whether the current answer is the last one: the model must not be called again. */
  readonly isLastAnswer: boolean;
  /** Whether the answer ends with calls for the client, complete or not. */
  readonly endsWithCalls: boolean;
  /** Whether the app-server runs tools: it is silent until one of them has ended. */
  readonly runsTools: boolean;
  /** Translates a signal into turn events; often none. */
  take(signal: SourceSignal): TurnEvent[];
  /** Ends the turn from outside: the worker is lost, or the reader is too slow. */
  end(outcome: Outcome): TurnEvent[];
}

/** The signals of a turn from both channels, in one queue. */
export type SourceSignal =
  | { readonly kind: 'notified'; readonly notification: KnownNotification }
  | UpstreamEvent;

/** Anomalies that are not reported to the client but counted. */
export type Anomaly =
  | 'undeclared-call'
  | 'second-call-dropped'
  /** Two calls had the same `call_id`: the second got a new one. */
  | 'call-id-twice'
  | 'text-differs'
  /** The app-server reports a turn as completed although no answer was. */
  | 'answer-unseen'
  /** An output item without a type, or a call without a name, was dropped. */
  | 'item-without-type'
  | 'item-without-name'
  /** Without the relay: a stream ended too early, or codex could not read its usage. */
  | 'answer-unfinished'
  | 'usage-unread';

export interface SourceOptions {
  readonly turnId: string;
  /** The client's tools that the model may call. */
  readonly callable: CallableTools;
  /** The tools that the app-server runs. */
  readonly findMcpTool: FindMcpTool;
  readonly parallelToolCalls: boolean;
  readonly ambient: Ambient;
  readonly onAnomaly: (anomaly: Anomaly) => void;
}

/** What the relay sees of a turn's answers, as it happens. */
export type UpstreamEvent =
  /** The backend has started to answer. A turn may have several answers of the model. */
  | { readonly kind: 'answer-started' }
  /** One event of the answer, among those that are read. */
  | { readonly kind: 'answer-said'; readonly type: string; readonly data: JsonObject }
  /** Why a request or an answer failed; how it ends follows. */
  | { readonly kind: 'refused'; readonly failure: Failure }
  | AnswerEnded;

export type AnswerEnded =
  /** Null: the final event was too long to read. */
  | { readonly kind: 'answer-ended'; readonly how: 'completed'; readonly response: JsonObject | null }
  | { readonly kind: 'answer-ended'; readonly how: 'incomplete'; readonly response: JsonObject }
  /** `cut`: the backend broke off, or has reported why before. `left`: the app-server disconnected. */
  | { readonly kind: 'answer-ended'; readonly how: 'cut' | 'left' };

/** What the relay knows about a turn's request. */
export interface RelayReport {
  /** Requested settings that did not reach the backend. */
  readonly ignored: readonly Path[];
  /** Whether the backend received the output limit. */
  readonly limitsOutput: boolean;
  /** For the client: the backend's request id and rate limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** Why the login could not be renewed recently, if that is not the login's own fault. */
  readonly signIn: Failure | null;
}
