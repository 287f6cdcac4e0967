import { fold, type Reply } from '../canonical/events/accumulate.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { failureOf, GatewayError } from '../canonical/failure/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { untilAborted } from '../kit/async/wait.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import type { Api, Frame, InputTokens } from './api.ts';

/** A run, without the way in which it is read. */
interface RunHandle {
  readonly id: string;
  /** Data: with it and the events, any process can render or project the answer. */
  readonly meta: unknown;
  cancel(reason?: unknown): void;
  /** Resolves when nothing runs any more and the reply is complete. */
  readonly ended: Promise<void>;
}

/**
 * One answer in the making: the turns of a request, from their start to their last event. It owns its admission slots,
 * the bytes of its body and its observers, and gives them back when its turns have ended. The one who shows it to a client
 * (as JSON, as a stream) only reads it, and decides whether it ends when that client leaves.
 */
export interface Run extends RunHandle {
  /** What is known when the turns are accepted, for the head of the answer. */
  readonly head: RunHead;
  /** How many turns it has. */
  readonly turns: number;
  /**
   * The frames of the answer, numbered from 0 in their order. It can be read once, and runs no faster than it is read.
   */
  events(): AsyncIterable<Frame>;
  /** The whole answer, when it has ended. In place of its frames. */
  reply(): Promise<OneOrMore<Reply>>;
}

export interface RunHead {
  /** Parameters that have no effect, by their names in the body. */
  readonly ignored: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The model that answers; absent: the requested one. */
  readonly servedModel?: string;
}

/** What a run without a client has. */
export interface DetachedParts extends RunHandle {
  readonly api: Api;
  readonly events: OneOrMore<AsyncIterable<TurnEvent>>;
  readonly signal: AbortSignal;
  /** Ends turns that are not being read. */
  readonly abandon: () => Promise<void>;
}

export interface RunParts extends DetachedParts {
  readonly head: RunHead;
  /** Absent: the answer does not begin with it. */
  readonly inputTokens?: InputTokens;
}

/**
 * A renderer may be left, or fail, before it asks for the first event: its turns would then wait for a reader, and keep
 * what they hold.
 */
const orAbandoned = (
  render: () => AsyncIterable<Frame>,
  abandon: () => Promise<void>,
): AsyncIterable<Frame> => {
  const failed = (error: unknown): never => {
    void abandon();
    throw error;
  };
  try {
    const frames = render()[Symbol.asyncIterator]();
    let isBegun = false;
    return {
      [Symbol.asyncIterator]: () => ({
        next() {
          const step = frames.next();
          if (isBegun) return step;
          isBegun = true;
          return step.catch(failed);
        },
        async return() {
          try {
            await frames.return?.();
          } finally {
            await abandon();
          }
          return { done: true, value: undefined };
        },
      }),
    };
  } catch (error) {
    return failed(error);
  }
};

/** A run with one reader, who is waiting for it. Nothing of it is kept: a slow reader slows its turns down. */
export const foregroundRun = ({ api, events, signal, abandon, inputTokens, ...parts }: RunParts): Run => {
  let isRead = false;
  const take = (): void => {
    if (isRead) throw new Error('a foreground run can be read only once');
    isRead = true;
  };
  return {
    ...parts,
    cancel(reason) {
      parts.cancel(reason);
      if (!isRead) void abandon();
    },
    turns: events.length,
    events() {
      take();
      return orAbandoned(() => api.render(parts.meta, events, inputTokens), abandon);
    },
    reply() {
      take();
      return Promise.all(mapAll(events, (turn) => fold(untilAborted(turn, signal))));
    },
  };
};

/** A run without a client. It runs while its frames are read. */
export interface DetachedRun extends RunHandle {
  /** Once. Throws the reason as soon as the run is cancelled. */
  events(): AsyncIterable<Frame>;
}

export const detachedRun = ({ api, events, signal, abandon, ...parts }: DetachedParts): DetachedRun => ({
  ...parts,
  events() {
    const turns = mapAll(events, (turn) => untilAborted(turn, signal));
    return orAbandoned(() => api.render(parts.meta, turns), abandon);
  },
});

interface LateTurn {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with an error that is not a failure of the turn. */
  readonly onBug: (error: unknown) => void;
}

/** The events of a turn that is started when they are read. If that fails, the failure is their end. */
export async function* lateTurn(
  start: () => Promise<AsyncIterable<TurnEvent>>,
  { clock, signal, onBug }: LateTurn,
): AsyncGenerator<TurnEvent> {
  let events: AsyncIterable<TurnEvent>;
  try {
    events = await start();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof GatewayError)) onBug(error);
    yield {
      type: 'turn-ended',
      outcome: { kind: 'failed', failure: failureOf(error) },
      usage: null,
      at: clock.now(),
    };
    return;
  }
  yield* events;
}
