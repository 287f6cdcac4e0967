import { assertNever } from '../../kit/assert-never.ts';
import type { AnswerEnded, WireEvent } from './wire-report.ts';

export type CallEvent = Exclude<WireEvent, AnswerEnded>;
type Started = Extract<WireEvent, { kind: 'call-started' }>;
/** What may be told now. */
export type Shown = Started | Extract<WireEvent, { kind: 'call-delta' }>;

interface LiveCall {
  readonly started: Started;
  /** Arguments that came before the call could be shown. */
  waiting: string;
  isShown: boolean;
  isWritten: boolean;
}

/**
 * Calls that a relay sees while their arguments are still being written. The app-server stays the
 * source of order: a call is shown once everything in front of it is done.
 */
export class LiveCalls {
  readonly #isWanted: (call: Started) => boolean;
  readonly #calls = new Map<string, LiveCall>();
  #itemsDone = 0;
  #answersStarted = 0;
  #answersDone = 0;
  /** What the relay saw of an answer before the app-server had told the one before it to its end. */
  #ahead: CallEvent[] = [];

  constructor(isWanted: (call: Started) => boolean) {
    this.#isWanted = isWanted;
  }

  /** How many calls there are in this answer, shown or not. */
  get size(): number {
    return this.#calls.size;
  }

  isShown(itemId: string): boolean {
    return this.#calls.get(itemId)?.isShown === true;
  }

  take(event: CallEvent): Shown[] {
    if (event.kind === 'answer-started') {
      this.#answersStarted += 1;
      return [];
    }
    if (this.#answersStarted > this.#answersDone + 1) {
      this.#ahead.push(event);
      return [];
    }
    switch (event.kind) {
      case 'call-started':
        return this.#start(event);
      case 'call-delta':
        return this.#delta(event.itemId, event.delta);
      case 'call-written':
        this.#seal(event.itemId);
        return [];
      default:
        return assertNever(event);
    }
  }

  /** The app-server has told one more item of the answer whole. */
  itemDone(itemId: string): Shown[] {
    this.#calls.delete(itemId);
    this.#itemsDone += 1;
    return this.#show();
  }

  /** The answer is over; what is known of the next one may be told. */
  answerDone(): Shown[] {
    this.#calls.clear();
    this.#itemsDone = 0;
    this.#answersDone += 1;
    const ahead = this.#ahead;
    this.#ahead = [];
    return ahead.flatMap((event) => this.take(event));
  }

  #start(started: Started): Shown[] {
    // An id that comes twice: from here on its arguments belong to another call.
    this.#seal(started.itemId);
    if (this.#calls.has(started.itemId) || !this.#isWanted(started)) return [];
    this.#calls.set(started.itemId, { started, waiting: '', isShown: false, isWritten: false });
    return this.#show();
  }

  #delta(itemId: string, delta: string): Shown[] {
    const call = this.#calls.get(itemId);
    if (call === undefined || call.isWritten) return [];
    if (call.isShown) return [{ kind: 'call-delta', itemId, delta }];
    call.waiting += delta;
    return [];
  }

  #seal(itemId: string): void {
    const call = this.#calls.get(itemId);
    if (call !== undefined) call.isWritten = true;
  }

  #show(): Shown[] {
    const events: Shown[] = [];
    for (const call of this.#calls.values()) {
      // A call without an id could not be told from another one when it is done: it only counts.
      if (call.isShown || call.started.itemId === '') continue;
      if (call.started.outputIndex > this.#itemsDone) continue;
      call.isShown = true;
      events.push(call.started);
      if (call.waiting !== '') {
        events.push({ kind: 'call-delta', itemId: call.started.itemId, delta: call.waiting });
      }
    }
    return events;
  }
}
