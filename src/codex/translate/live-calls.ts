import type { WireEvent } from './wire-report.ts';

type Started = Extract<WireEvent, { kind: 'call-started' }>;

interface LiveCall {
  readonly started: Started;
  /** Arguments that came before the call could be shown. */
  waiting: string;
  isShown: boolean;
}

/**
 * Calls that a relay sees while their arguments are still being written. The app-server stays the
 * source of order: a call is shown once everything in front of it is done.
 */
export class LiveCalls {
  readonly #calls = new Map<string, LiveCall>();
  #itemsDone = 0;

  /** How many calls there are in this response, shown or not. */
  get size(): number {
    return this.#calls.size;
  }

  isShown(itemId: string): boolean {
    return this.#calls.get(itemId)?.isShown === true;
  }

  start(started: Started): WireEvent[] {
    // A call without an id could not be told from another one when it is done.
    if (started.itemId === '' || this.#calls.has(started.itemId)) return [];
    this.#calls.set(started.itemId, { started, waiting: '', isShown: false });
    return this.#show();
  }

  delta(itemId: string, delta: string): WireEvent[] {
    const call = this.#calls.get(itemId);
    if (call === undefined) return [];
    if (call.isShown) return [{ kind: 'call-delta', itemId, delta }];
    call.waiting += delta;
    return [];
  }

  /** The app-server has told one more item of the response whole. */
  itemDone(itemId: string): WireEvent[] {
    this.#calls.delete(itemId);
    this.#itemsDone += 1;
    return this.#show();
  }

  responseDone(): void {
    this.#calls.clear();
    this.#itemsDone = 0;
  }

  #show(): WireEvent[] {
    const events: WireEvent[] = [];
    for (const call of this.#calls.values()) {
      if (call.isShown || call.started.outputIndex > this.#itemsDone) continue;
      call.isShown = true;
      events.push(call.started);
      if (call.waiting !== '') {
        events.push({ kind: 'call-delta', itemId: call.started.itemId, delta: call.waiting });
      }
    }
    return events;
  }
}
