/** At most so much of the output of a call is sent while it runs. */
export const MAX_LIVE_BYTES = 1024 * 1024;
/** Between two pieces of all calls of a run. */
const EVERY_MS = 10;

export interface LiveOutputOptions {
  readonly send: (callId: string, text: string) => void;
  /** False: the reader is slow, and live output waits or is dropped. */
  readonly hasRoom: () => boolean;
}

interface LiveCall {
  sent: string;
  /** Pieces that were not sent yet. */
  pending: string;
  bytesLeft: number;
}

/**
 * What commands write while they run, for eyes: in pieces that end between two characters, at most a hundred a second. codex
 * loses some of it.
 */
export class LiveOutput {
  readonly #options: LiveOutputOptions;
  /** In the order in which they are served. */
  readonly #calls = new Map<string, LiveCall>();
  #timer: NodeJS.Timeout | null = null;

  constructor(options: LiveOutputOptions) {
    this.#options = options;
  }

  add(callId: string, text: string): void {
    const call = this.#callOf(callId);
    const piece = firstBytes(text, call.bytesLeft);
    // After a cut nothing follows, so that there is no gap.
    call.bytesLeft = piece.length < text.length ? 0 : call.bytesLeft - Buffer.byteLength(piece);
    call.pending += piece;
    if (call.pending !== '' && this.#timer === null) this.#sendNext();
  }

  /** Sends at once what waits, if there is room. */
  flush(callId: string): void {
    const call = this.#calls.get(callId);
    if (call !== undefined && call.pending !== '' && this.#options.hasRoom()) this.#send(callId, call);
  }

  /** The call ends. `whole`: all of its output; null: it is not known. */
  end(callId: string, whole: string | null): void {
    const call = this.#callOf(callId);
    this.#calls.delete(callId);
    if (!this.#options.hasRoom()) return;
    if (whole !== null && whole.startsWith(call.sent + call.pending)) {
      const { length } = call.pending;
      const rest = whole.slice(call.sent.length + length);
      call.pending += firstBytes(rest, call.bytesLeft);
    }
    if (call.pending !== '') this.#options.send(callId, call.pending);
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#calls.clear();
  }

  #callOf(callId: string): LiveCall {
    const known = this.#calls.get(callId);
    if (known !== undefined) return known;
    const call = { sent: '', pending: '', bytesLeft: MAX_LIVE_BYTES };
    this.#calls.set(callId, call);
    return call;
  }

  #sendNext(): void {
    this.#timer = null;
    for (const [callId, call] of this.#calls) {
      if (call.pending === '') continue;
      if (this.#options.hasRoom()) {
        // The others come first next time.
        this.#calls.delete(callId);
        this.#calls.set(callId, call);
        this.#send(callId, call);
      }
      this.#timer = setTimeout(() => this.#sendNext(), EVERY_MS);
      return;
    }
  }

  #send(callId: string, call: LiveCall): void {
    const { pending } = call;
    call.sent += pending;
    call.pending = '';
    this.#options.send(callId, pending);
  }
}

/** The beginning of a text that is at most so long in UTF-8. No character is cut. */
const firstBytes = (text: string, bytes: number): string => {
  if (text.length * 3 <= bytes || Buffer.byteLength(text) <= bytes) return text;
  // The decoder holds back what is not complete.
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
};
