import type { ModelNames } from '../canonical/model-names.ts';
import type { Reply } from '../canonical/accumulate.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { AskedTurn } from '../canonical/turn-request.ts';
import type { Ambient } from '../kit/ambient.ts';
import type { OneOrMore } from '../kit/one-or-more.ts';
import type { Frame } from '../openai/sse.ts';

/** Who asks, and what holds for this request. Handed down as an argument, never looked up. */
export interface RequestContext {
  readonly requestId: string;
  readonly headers: Headers;
  /** Aborted when the client is gone or the server gives up on the request. */
  readonly signal: AbortSignal;
  readonly ambient: Ambient;
  readonly models: ModelNames;
}

/** A parsed request: what to run, and how its answer is said in the caller's API. */
export interface TurnAsk {
  readonly request: AskedTurn;
  /** How many answers are asked for: each is a turn of its own. */
  readonly choices: number;
  /** The model as the caller named it. */
  readonly model: string;
  readonly stream: boolean;
  /** Fields that have no effect, by their place in the body. */
  readonly ignored: readonly string[];
  /** Names of parameters that must not be ignored: without them the answer is not what was asked for. */
  readonly insists: readonly string[];
  /** The place of the output format in the body, for messages about it. */
  readonly formatPlace: string;
  /** Which items the answer shows, and in which order. */
  arrange(events: AsyncIterable<TurnEvent>): AsyncIterable<TurnEvent>;
  render(turns: OneOrMore<AsyncIterable<TurnEvent>>): AsyncIterable<Frame>;
  project(replies: OneOrMore<Reply>): unknown;
}

/** An API that runs turns is a value: everything else about serving it is shared (`serve-turn`). */
export interface Endpoint {
  readonly path: string;
  read(body: unknown, context: RequestContext): TurnAsk;
}
