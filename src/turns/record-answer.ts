import { measured, NO_TRACE, type Trace } from '../canonical/context/trace.ts';
import { endOf } from '../canonical/events/accumulate.ts';
import { handleEvents } from '../canonical/events/handle-events.ts';
import type { TurnEnded, TurnEvent } from '../canonical/events/turn-event.ts';
import { failureOf } from '../canonical/failure/failure.ts';
import type { Produced } from '../canonical/request/item.ts';
import type { IdSource } from '../kit/ambient.ts';
import { nextLoopTurn } from '../kit/async/event-loop.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { backgroundOf, type Api, type ParsedRequest } from './api.ts';
import type { FinishedTurn, TurnState } from './turn-state.ts';

type Events = AsyncIterable<TurnEvent>;

export interface Recording {
  /** Chooses and orders what the client sees. */
  readonly arrange: (events: Events) => Events;
  /** Keeps the answer; see `TurnState.record`. Null: nothing is kept. */
  readonly record: ((turns: OneOrMore<FinishedTurn>) => Promise<boolean>) | null;
}

/**
 * Arranges the turns of an answer for its client, and keeps it when the last of them has ended, before the client sees
 * that end.
 */
export const recordAnswer = (turns: OneOrMore<Events>, { arrange, record }: Recording): OneOrMore<Events> => {
  if (record === null) return mapAll(turns, arrange);
  const recorders = mapAll(turns, () => new TurnRecorder());
  let open = turns.length;
  const ended = async (end: TurnEnded): Promise<TurnEnded> => {
    open -= 1;
    if (open > 0) return end;
    // The client gets what the model wrote, and then it is stored.
    await nextLoopTurn();
    try {
      const isKept = await record(mapAll(recorders, (one) => one.finished()));
      return isKept ? end : { ...end, isUnstored: true };
    } catch (error) {
      return { ...end, outcome: { kind: 'failed', failure: failureOf(error) } };
    }
  };
  return mapAll(recorders, (recorder, index) =>
    // As many recorders as turns.
    recorded(turns[index] as Events, arrange, { recorder, ended }),
  );
};

/** Keeps the answer to a request in its state. Null: nothing of it is kept. */
export const recorderOf = (
  api: Api,
  parsed: ParsedRequest,
  state: TurnState,
  how: {
    readonly cacheKey: string;
    readonly ids: IdSource;
    readonly signal: AbortSignal;
    readonly trace: Trace;
  },
): Recording['record'] => {
  const { keeps, meta, stream } = parsed;
  if (keeps === undefined) return null;
  return async (turns) => {
    const replies = mapAll(turns, ({ reply }) => reply);
    // Sent whole to a client that waits, it is an HTTP error without an id.
    if (!stream && backgroundOf(parsed) === null && replies.some(({ outcome }) => outcome.kind === 'failed'))
      return true;
    const { cacheKey, ids, signal } = how;
    const storing = state.isKept(keeps) ? how.trace.begin('store') : NO_TRACE;
    const answer = { keeps, cacheKey, turns, signal, project: () => api.project(meta, replies, ids) };
    return measured(storing, async () => {
      const isKept = await state.record(answer);
      if (!isKept) storing.note({ error: 'store_unavailable' });
      return isKept;
    });
  };
};

interface RecordedTurn {
  readonly recorder: TurnRecorder;
  readonly ended: (end: TurnEnded) => Promise<TurnEnded>;
}

const recorded = (events: Events, arrange: Recording['arrange'], { recorder, ended }: RecordedTurn): Events =>
  handleEvents(arrange(recorder.made(events)), () => ({
    event(event) {
      if (event.type === 'item-delta') return event;
      recorder.show(event);
      return event.type === 'turn-ended' ? ended(event).then((end) => [end]) : event;
    },
  }));

/** Collects the items of one turn, as the model wrote them and as the client sees them. */
class TurnRecorder {
  readonly #made = new EndedItems();
  readonly #shown = new EndedItems();
  #end: TurnEnded | null = null;

  made(events: Events): Events {
    return handleEvents(events, () => ({
      event: (event) => {
        if (event.type !== 'item-delta') this.#made.add(event);
        return event;
      },
    }));
  }

  show(event: TurnEvent): void {
    this.#shown.add(event);
    if (event.type === 'turn-ended') this.#end = event;
  }

  finished(): FinishedTurn {
    if (this.#end === null) throw new Error('the turn has not ended');
    return { made: this.#made.items(), reply: { ...endOf(this.#end), items: this.#shown.items() } };
  }
}

/** The ended items of a turn in the order of their starts. Deltas need not be added up: an ended item has its texts. */
class EndedItems {
  readonly #items = new Map<string, Produced | null>();

  add(event: TurnEvent): void {
    if (event.type === 'item-started') this.#items.set(event.item.id, null);
    else if (event.type === 'item-ended') this.#items.set(event.item.id, event.item);
  }

  items(): readonly Produced[] {
    return [...this.#items.values()].filter((item) => item !== null);
  }
}
