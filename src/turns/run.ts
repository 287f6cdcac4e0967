import { Accumulator, fold, type Reply } from '../canonical/events/accumulate.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { untilAborted } from '../kit/async/abort.ts';
import { mapAll, type OneOrMore } from '../kit/collections/one-or-more.ts';
import type { Api, Frame } from './api.ts';
import { FrameLog } from './frame-log.ts';

/**
 * One answer in the making: the turns of a request, from their start to their last event. It owns its admission slots,
 * the bytes of its body and its observers, and gives them back when its turns have ended. The one who shows it to a client
 * (as JSON, as a stream) only reads it, and decides whether it ends when that client leaves.
 */
export interface Run {
  readonly id: string;
  /** Data: with it and the events, any process can render or project the answer. */
  readonly meta: unknown;
  /** What is known when the turns are accepted, for the head of the answer. */
  readonly head: RunHead;
  /** How many turns it has. */
  readonly turns: number;
  /**
   * The frames of the answer, numbered from 0 in their order. A foreground run can be read once and only from its
   * start, and runs no faster than it is read. A kept run can be read at any time, by any number of readers, and
   * starts after the frame `after`; throws if its frames exceed the limit for keeping them.
   */
  events(after?: number): AsyncIterable<Frame>;
  /** The whole answer, when it has ended. Of a foreground run that streams there is none. */
  reply(): Promise<OneOrMore<Reply>>;
  cancel(reason?: unknown): void;
  /** Resolves when nothing runs any more and the reply is complete. */
  readonly ended: Promise<void>;
}

export interface RunHead {
  /** Parameters that have no effect, by their names in the body. */
  readonly ignored: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The model that answers; absent: the requested one. */
  readonly servedModel?: string;
}

/** How much of a kept run may be held in memory. */
export interface KeepLimit {
  readonly maxBytes: number;
}

export interface RunParts extends Pick<Run, 'id' | 'meta' | 'head' | 'ended' | 'cancel'> {
  /** Ends turns that are not being read. */
  readonly abandon: () => void;
  readonly api: Pick<Api, 'render'>;
  readonly events: OneOrMore<AsyncIterable<TurnEvent>>;
  readonly signal: AbortSignal;
}

/** A run with one reader, who is waiting for it. Nothing of it is kept: a slow reader slows its turns down. */
export const foregroundRun = ({ api, events, signal, abandon, ...parts }: RunParts): Run => {
  let isRead = false;
  const take = (): void => {
    if (isRead) throw new Error('a foreground run can be read only once');
    isRead = true;
  };
  return {
    ...parts,
    cancel(reason) {
      parts.cancel(reason);
      if (!isRead) abandon();
    },
    turns: events.length,
    events(after) {
      if (after !== undefined) throw new Error('a foreground run is read from its start');
      take();
      return api.render(parts.meta, events);
    },
    reply() {
      take();
      return Promise.all(mapAll(events, (turn) => fold(untilAborted(turn, signal))));
    },
  };
};

/** A run that needs no reader: it runs to its end by itself, and its frames are kept for readers that come later. */
export const keptRun = ({ api, events, signal, ...parts }: RunParts, { maxBytes }: KeepLimit): Run => {
  const log = new FrameLog(maxBytes);
  const reply = (async (): Promise<OneOrMore<Reply>> => {
    const turns = mapAll(events, (turn) => ({ turn, all: new Accumulator() }));
    try {
      const watched = mapAll(turns, ({ turn, all }) => accumulated(untilAborted(turn, signal), all));
      for await (const frame of api.render(parts.meta, watched)) log.add(frame);
      log.end();
      return mapAll(turns, ({ all }) => all.reply());
    } catch (error) {
      log.fail(error);
      throw error;
    }
  })();
  reply.catch(() => {});
  return {
    ...parts,
    turns: events.length,
    ended: reply.then(
      () => parts.ended,
      () => parts.ended,
    ),
    events: (after = -1) => log.read(after + 1),
    reply: () => reply,
  };
};

async function* accumulated(events: AsyncIterable<TurnEvent>, all: Accumulator): AsyncGenerator<TurnEvent> {
  for await (const event of events) {
    all.add(event);
    yield event;
  }
}
