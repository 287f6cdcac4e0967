import type { Sliced } from '../../../kit/async/event-loop.ts';
import { MAX_EVENT_BYTES } from './sse-events.ts';

const LF = 0x0a;
const CR = 0x0d;
const NOTHING = new Uint8Array(0);

/**
 * The bytes of an event stream that are passed on while it is read. The bytes of an event are held back until the
 * event is complete, so that it can be replaced; everything else passes unchanged. Lines must end in LF or CRLF.
 */
export class EventPassthrough {
  readonly #read: (bytes: Uint8Array) => Sliced<Uint8Array | null>;
  /** The bytes of the incomplete event. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** The event is too long to hold: its start has been passed on. */
  #isPartlyPassed = false;
  #isLineEmpty = true;

  /** `read` gets all bytes in order and returns the replacement of the event that they complete, or null. */
  constructor(read: (bytes: Uint8Array) => Sliced<Uint8Array | null>) {
    this.#read = read;
  }

  /** Returns the bytes to pass on now. */
  *push(chunk: Uint8Array): Sliced<Uint8Array> {
    const passed: Uint8Array[] = [];
    let from = 0;
    let lineFrom = 0;
    for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, lineFrom)) {
      // An empty line ends an event.
      const isEnd = this.#isLineEmpty && isEmpty(chunk, lineFrom, at);
      this.#isLineEmpty = true;
      lineFrom = at + 1;
      if (!isEnd) continue;
      yield* this.#event(chunk.subarray(from, lineFrom), passed);
      from = lineFrom;
    }
    this.#isLineEmpty &&= isEmpty(chunk, lineFrom, chunk.length);
    if (from < chunk.length) yield* this.#hold(chunk.subarray(from), passed);
    return joined(passed);
  }

  /** The stream has ended: returns the bytes of an incomplete event. */
  rest(): Uint8Array {
    return joined(this.#take());
  }

  *#event(bytes: Uint8Array, passed: Uint8Array[]): Sliced<void> {
    const replacement = yield* this.#read(bytes);
    this.#held.push(bytes);
    const original = this.#take();
    passed.push(replacement === null || this.#isPartlyPassed ? joined(original) : replacement);
    this.#isPartlyPassed = false;
  }

  *#hold(bytes: Uint8Array, passed: Uint8Array[]): Sliced<void> {
    yield* this.#read(bytes);
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
    if (!this.#isPartlyPassed && this.#heldBytes <= MAX_EVENT_BYTES) return;
    this.#isPartlyPassed = true;
    passed.push(joined(this.#take()));
  }

  #take(): Uint8Array[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    return held;
  }
}

const joined = (parts: readonly Uint8Array[]): Uint8Array =>
  parts.length < 2 ? (parts[0] ?? NOTHING) : Buffer.concat(parts);

/** Whether a line has no bytes but those of its end. */
const isEmpty = (chunk: Uint8Array, from: number, to: number): boolean => {
  let at = from;
  while (at < to && chunk[at] === CR) at += 1;
  return at === to;
};
