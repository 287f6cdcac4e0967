import type { TurnEvent } from './turn-event.ts';

/** The last events of a turn. */
type LastEvents = readonly TurnEvent[];

/** Handles the events of one turn, one by one, on their way to its reader. */
export interface EventHandler {
  /** What takes the place of the event. A list: these are the last events, and those that follow are dropped. */
  event(event: TurnEvent): TurnEvent | LastEvents | Promise<LastEvents>;
  /** What takes the place of an error; throws if it stays one. */
  thrown?(error: unknown): LastEvents;
  /** What follows the last event of the source. */
  ended?(): LastEvents;
  /** Called once when nothing follows: after the end or an error, or when the reader has left. */
  over?(): void;
}

/**
 * The events as the handler passes them on. Handlers in a row share one iterator, because each one of its own would cost
 * more for an event than what it does with it. Opened when the first event is asked for.
 */
export const handleEvents = (
  events: AsyncIterable<TurnEvent>,
  open: () => EventHandler,
): AsyncIterable<TurnEvent> =>
  events instanceof HandledEvents ? events.and(open) : new HandledEvents(events, [open]);

class HandledEvents implements AsyncIterable<TurnEvent> {
  readonly #events: AsyncIterable<TurnEvent>;
  readonly #open: readonly (() => EventHandler)[];

  constructor(events: AsyncIterable<TurnEvent>, open: readonly (() => EventHandler)[]) {
    this.#events = events;
    this.#open = open;
  }

  and(open: () => EventHandler): HandledEvents {
    return new HandledEvents(this.#events, [...this.#open, open]);
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    return new HandledIterator(this.#events, this.#open);
  }
}

type Step = IteratorResult<TurnEvent, undefined>;

const OVER: Step = { done: true, value: undefined };

class HandledIterator implements AsyncIterator<TurnEvent, undefined> {
  readonly #events: AsyncIterable<TurnEvent>;
  readonly #open: readonly (() => EventHandler)[];
  readonly #handlers: EventHandler[] = [];
  #source: AsyncIterator<TurnEvent> | null = null;
  /** The source has ended or thrown, or was left. */
  #isSourceOver = false;
  /** The last events, once they are known, and the first handler that they pass. */
  #last: { readonly events: TurnEvent[]; readonly from: number } | null = null;
  /** Nothing follows: handlers get nothing more, not even what was asked for before. */
  #isOver = false;

  constructor(events: AsyncIterable<TurnEvent>, open: readonly (() => EventHandler)[]) {
    this.#events = events;
    this.#open = open;
  }

  next(): Promise<Step> {
    if (this.#isOver) return Promise.resolve(OVER);
    if (this.#last !== null) return Promise.resolve(this.#nextOfLast(this.#last));
    if (this.#source === null) {
      for (const open of this.#open) this.#handlers.push(open());
      this.#source = this.#events[Symbol.asyncIterator]();
    }
    if (this.#source instanceof PassingIterator) this.#source = this.#source.shortened;
    return this.#source.next().then(this.#pass, this.#failed);
  }

  async return(): Promise<Step> {
    if (this.#isOver) return OVER;
    this.#isOver = true;
    try {
      await this.#leaveSource();
    } finally {
      for (const handler of this.#handlers) handler.over?.();
    }
    return OVER;
  }

  readonly #failed = (error: unknown): Promise<Step> => {
    this.#isSourceOver = true;
    return this.#threw(error, 0);
  };

  /** `from`: the first handler that the event passes. */
  readonly #pass = (step: IteratorResult<TurnEvent>, from = 0): Step | Promise<Step> => {
    if (this.#isOver) return OVER;
    if (step.done === true) {
      this.#isSourceOver = true;
      return this.#ended(0);
    }
    let event = step.value;
    for (let nth = from; nth < this.#handlers.length; nth += 1) {
      let handled: ReturnType<EventHandler['event']>;
      try {
        handled = this.#handlers[nth]?.event(event) ?? event;
      } catch (error) {
        return this.#threw(error, nth + 1);
      }
      if (!('type' in handled)) return this.#finish(handled, nth + 1);
      event = handled;
    }
    return event === step.value ? step : { done: false, value: event };
  };

  #finish(events: LastEvents | Promise<LastEvents>, from: number): Step | Promise<Step> {
    if (events instanceof Promise) {
      return events.then(
        (all) => this.#finish(all, from),
        (error: unknown) => this.#threw(error, from),
      );
    }
    const last = { events: [...events], from };
    this.#last = last;
    return this.#nextOfLast(last);
  }

  #nextOfLast({
    events,
    from,
  }: {
    readonly events: TurnEvent[];
    readonly from: number;
  }): Step | Promise<Step> {
    const event = events.shift();
    return event === undefined ? this.#afterLast(from) : this.#pass({ done: false, value: event }, from);
  }

  /** The source is left when the reader asks for more: it has the last event then. */
  async #afterLast(from: number): Promise<Step> {
    try {
      await this.#leaveSource();
    } catch (error) {
      return this.#threw(error, from - 1);
    }
    return this.#ended(from);
  }

  #ended(from: number): Step | Promise<Step> {
    if (this.#isOver) return OVER;
    for (let nth = from; nth < this.#handlers.length; nth += 1) {
      let last: LastEvents;
      try {
        last = this.#handlers[nth]?.ended?.() ?? [];
      } catch (error) {
        return this.#threw(error, nth + 1);
      }
      if (last.length > 0) return this.#finish(last, nth + 1);
    }
    this.#end();
    return OVER;
  }

  async #threw(error: unknown, from: number): Promise<Step> {
    let thrown = error;
    try {
      await this.#leaveSource();
    } catch {
      // As in a loop: the first error counts.
    }
    if (this.#isOver) return OVER;
    for (let nth = from; nth < this.#handlers.length; nth += 1) {
      let last: LastEvents | undefined;
      try {
        last = this.#handlers[nth]?.thrown?.(thrown);
      } catch (another) {
        thrown = another;
      }
      if (last !== undefined) return this.#finish(last, nth + 1);
    }
    this.#end();
    throw thrown;
  }

  async #leaveSource(): Promise<void> {
    if (this.#isSourceOver) return;
    this.#isSourceOver = true;
    await this.#source?.return?.();
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const handler of this.#handlers) handler.over?.();
  }
}

/** Passes on the events of another iterator, sooner or later without doing anything. */
abstract class PassingIterator implements AsyncIterator<TurnEvent> {
  /** The other iterator, when it can be read in place of this one; null: not yet. */
  protected others: AsyncIterator<TurnEvent> | null = null;

  /** The iterator to read from now on. */
  get shortened(): AsyncIterator<TurnEvent> {
    const { others } = this;
    if (others === null) return this;
    return others instanceof PassingIterator ? others.shortened : others;
  }

  abstract next(): Promise<IteratorResult<TurnEvent>>;
  abstract return(): Promise<Step>;
}

/** Events that are known when this has resolved: it may wait, or try several turns. That costs the events themselves nothing. */
export const beginEvents = (begin: () => Promise<AsyncIterator<TurnEvent>>): AsyncIterable<TurnEvent> => ({
  [Symbol.asyncIterator]: () => new BegunIterator(begin),
});

class BegunIterator extends PassingIterator {
  readonly #begin: () => Promise<AsyncIterator<TurnEvent>>;
  /** Null: the first event was not asked for yet. */
  #beginning: Promise<AsyncIterator<TurnEvent>> | null = null;

  constructor(begin: () => Promise<AsyncIterator<TurnEvent>>) {
    super();
    this.#begin = begin;
  }

  next(): Promise<IteratorResult<TurnEvent>> {
    return this.others === null ? this.#first() : this.others.next();
  }

  async return(): Promise<Step> {
    const events = this.#beginning === null ? NO_EVENTS : await this.#beginning.catch(() => NO_EVENTS);
    this.others = NO_EVENTS;
    await events.return?.();
    return OVER;
  }

  async #first(): Promise<IteratorResult<TurnEvent>> {
    try {
      this.others = await (this.#beginning ??= this.#begin());
    } catch (error) {
      this.others = NO_EVENTS;
      throw error;
    }
    return this.others.next();
  }
}

export const NO_EVENTS: AsyncIterator<TurnEvent> = { next: () => Promise.resolve(OVER) };

/** These events, then the others. */
export const eventsBefore = (
  first: readonly TurnEvent[],
  others: AsyncIterator<TurnEvent>,
): AsyncIterator<TurnEvent> => new PrecededIterator(first, others);

class PrecededIterator extends PassingIterator {
  readonly #first: TurnEvent[];
  readonly #others: AsyncIterator<TurnEvent>;

  constructor(first: readonly TurnEvent[], others: AsyncIterator<TurnEvent>) {
    super();
    this.#first = [...first];
    this.#others = others;
  }

  next(): Promise<IteratorResult<TurnEvent>> {
    const event = this.#first.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    this.others = this.#others;
    return this.others.next();
  }

  async return(): Promise<Step> {
    this.#first.length = 0;
    await this.#others.return?.();
    return OVER;
  }
}
