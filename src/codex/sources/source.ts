import type { Produced } from '../../canonical/request/item.ts';
import type { Outcome } from '../../canonical/events/outcome.ts';
import type { CallableTools } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { KnownNotification } from '../protocol/methods.ts';
import type { FindMcpTool } from './mcp-calls.ts';
import type { UpstreamEvent } from './upstream-event.ts';

/** Where the events of one turn come from. It holds the turn's state and does no IO. */
export interface TurnSource {
  /** The turn has ended: nothing more comes. */
  readonly ended: boolean;
  /** What of the model's last answer the client was told, in the order in which it began. */
  readonly answer: readonly Produced[];
  /** The answer that is here is the last one: nothing more is to be asked of the model. */
  readonly isLastAnswer: boolean;
  /** The answer ends with what the client has to do, whether it is whole or not. */
  readonly endsWithCalls: boolean;
  /** The app-server runs tools: it says nothing until one of them has ended. */
  readonly runsTools: boolean;
  /** What happened, as turn events; often none. */
  take(signal: SourceSignal): TurnEvent[];
  /** Ends the turn from outside: the worker is gone, or the reader is too slow. */
  end(outcome: Outcome): TurnEvent[];
}

/** What is heard of a turn on its two ways, in one queue. */
export type SourceSignal =
  | { readonly kind: 'notified'; readonly notification: KnownNotification }
  | UpstreamEvent;

/** Things that are not a client's business but must not go unseen. */
export type Anomaly =
  | 'undeclared-call'
  | 'second-call-dropped'
  /** Two calls had one `call_id`: the second one got another. */
  | 'call-id-twice'
  | 'text-differs'
  /** The app-server calls a turn completed of which no answer was completed. */
  | 'answer-unseen'
  /** An output item without a type, or a call without a name, was dropped. */
  | 'item-without-type'
  | 'item-without-name'
  /** Without the relay: a stream ended too early, or codex could not read what an answer cost. */
  | 'answer-unfinished'
  | 'usage-unread';

export interface SourceOptions {
  readonly turnId: string;
  /** The tools of the client that the model may call. */
  readonly callable: CallableTools;
  /** The tools that the app-server runs. */
  readonly findMcpTool: FindMcpTool;
  readonly parallelToolCalls: boolean;
  readonly ambient: Ambient;
  readonly onAnomaly: (anomaly: Anomaly) => void;
}
