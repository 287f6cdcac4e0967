/** How long a connection may do what. */
export interface ConnectionTimes {
  /** Older connections accept no requests. */
  readonly maxAgeMs: number;
  /** Without messages, and while nothing runs. */
  readonly idleMs: number;
  /** Between two pings. The client has as long to answer. */
  readonly pingMs: number;
  /** Without a byte of a message that has begun to arrive. */
  readonly uploadIdleMs: number;
}

/** What is known about a connection at some time. */
export interface Signs {
  readonly now: number;
  /** When the client last sent anything. */
  readonly lastDataAt: number;
  /** A message has arrived in part. */
  readonly isArriving: boolean;
  /** The client has not read everything, or nothing of it is being read: it cannot answer a ping now. */
  readonly isBehind: boolean;
  /** Since when the connection is of no use; null: something runs. */
  readonly idleSince: number | null;
}

/** `stuck`: a message does not arrive to its end. `dead`: no answer to a ping. */
export type Verdict = 'fine' | 'ping' | 'idle' | 'stuck' | 'dead';

/** Decides what to do about a connection, every few seconds. */
export class Liveness {
  readonly #times: ConnectionTimes;
  #lastPingAt: number;
  #isPongDue = false;

  constructor(times: ConnectionTimes, now: number) {
    this.#times = times;
    this.#lastPingAt = now;
  }

  look({ now, lastDataAt, isArriving, isBehind, idleSince }: Signs): Verdict {
    const { idleMs, pingMs, uploadIdleMs } = this.#times;
    if (isArriving && now - lastDataAt >= uploadIdleMs) return 'stuck';
    if (idleSince !== null && now - idleSince >= idleMs) return 'idle';
    if (now - this.#lastPingAt < pingMs) return 'fine';
    if (this.#isPongDue && !isBehind && lastDataAt < this.#lastPingAt) return 'dead';
    this.#lastPingAt = now;
    this.#isPongDue = !isBehind;
    return isBehind ? 'fine' : 'ping';
  }
}
